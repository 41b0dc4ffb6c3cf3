// Preloaded with --import: the clock of this process is off by as many milliseconds as SKEW_MS says.
const skewMs = Number(process.env.SKEW_MS)
const RealDate = Date
const now = () => RealDate.now() + skewMs

globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [now()] : args))
  }

  static now() {
    return now()
  }
}
