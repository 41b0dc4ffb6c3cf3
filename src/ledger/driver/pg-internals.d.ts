// Internal functions of pg that its types do not declare.
declare module 'pg/lib/utils.js' {
  const utils: {
    /** Converts a JavaScript value for the wire protocol: dates, arrays, JSON, bytes. */
    prepareValue(value: unknown): string | Buffer | null
  }
  export default utils
}
