/** What was thrown, in words. Anything can be thrown, also what throws when it is looked at. */
export function textOfThrown(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : `thrown: ${String(thrown)}`
  } catch {
    return 'thrown: something that has no text'
  }
}
