/** Describes a thrown value. Any value can be thrown, even one whose properties throw. */
export function textOfThrown(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : `thrown: ${String(thrown)}`
  } catch {
    return 'thrown: something that has no text'
  }
}

const MOST_FRAMES = 8

/** Where it was thrown, the innermost place first. Without what it says: that is in its text. */
export function stackOfThrown(thrown: unknown): string[] {
  try {
    if (!(thrown instanceof Error) || typeof thrown.stack !== 'string') return []
    const frames = [...thrown.stack.matchAll(/^\s+at (.+)$/gm)].map(([, frame = '']) => frame)
    return frames.filter((frame) => !frame.includes('node:internal')).slice(0, MOST_FRAMES)
  } catch {
    // As above: it may throw when it is looked at.
    return []
  }
}
