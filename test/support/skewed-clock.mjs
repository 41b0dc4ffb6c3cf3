// Preloaded with --import: the clock of this process is off by as many milliseconds as SKEW_MS says.
// Timers and performance.now() stay as they are: they do not follow the clock of the machine.
let skewMs = Number(process.env.SKEW_MS ?? 0)
const RealDate = Date
const now = () => RealDate.now() + skewMs

/** From now on the clock is off by this much. */
export function setSkew(ms) {
  skewMs = ms
}

globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [now()] : args))
  }

  static now() {
    return now()
  }
}
