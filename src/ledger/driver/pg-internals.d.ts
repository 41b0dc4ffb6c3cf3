// What pg uses itself and does not declare.
declare module 'pg/lib/utils.js' {
  const utils: {
    /** Turns a JavaScript value into what the protocol carries: dates, arrays, JSON, bytes. */
    prepareValue(value: unknown): string | Buffer | null
  }
  export default utils
}
