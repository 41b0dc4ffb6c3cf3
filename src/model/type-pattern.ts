/**
 * Event types are matched by name, or by a pattern where `*` stands for any run of characters:
 * `invoice.paid`, `invoice.*`, `*`.
 */
export function typeMatcher(pattern: string): (type: string) => boolean {
  if (!pattern.includes('*')) return (type) => type === pattern
  if (pattern === '*') return () => true
  const parts = pattern.split('*')
  return (type) => matchesParts(type, parts)
}

// Greedy from left to right without backtracking: linear in the length of the type, which strangers
// choose.
function matchesParts(type: string, parts: readonly string[]): boolean {
  const first = parts[0] ?? ''
  const last = parts.at(-1) ?? ''
  if (!type.startsWith(first)) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = type.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return type.length - last.length >= at && type.endsWith(last)
}
