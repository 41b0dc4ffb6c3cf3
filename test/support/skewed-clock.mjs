// Preloaded with --import: shifts the clock of this process by SKEW_MS milliseconds. Timers and
// performance.now() do not change, because they do not follow the clock of the machine.
let skewMs = Number(process.env.SKEW_MS ?? 0)
const RealDate = Date
const now = () => RealDate.now() + skewMs

/** Shifts the clock by this time from now on. */
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
