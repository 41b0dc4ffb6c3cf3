/** A word of a command line that is printed to be copied. Names may hold any character. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_.:/@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
