/*
 * Cuts JSON values out of a larger JSON text without parsing them, so that numbers keep all their
 * digits and strings keep their escapes. The text must be valid JSON: api.ts parses each answer
 * once before it gets here. Scans by hand, because a regular expression over a string of several
 * megabytes can exhaust its stack.
 */

const SPACES = new Set([' ', '\t', '\n', '\r'])

/** The text without the spaces between its tokens. */
export function compactJson(text: string): string {
  let compact = ''
  let begin = 0
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? ''
    if (character === '"') at = endOfString(text, at)
    else if (SPACES.has(character)) {
      compact += text.slice(begin, at)
      begin = at + 1
    }
  }
  return compact + text.slice(begin)
}

/** The values of an object by name, each as its own text. Empty if the text is not an object. */
export function membersOf(text: string): Map<string, string> {
  const members = new Map<string, string>()
  const compact = compactJson(text)
  if (!compact.startsWith('{')) return members
  for (const part of partsOf(compact)) {
    const end = endOfString(part, 0)
    members.set(JSON.parse(part.slice(0, end + 1)) as string, part.slice(end + 2))
  }
  return members
}

/** The elements of an array, each as its own text. Empty if the text is not an array. */
export function elementsOf(text: string): string[] {
  const compact = compactJson(text)
  return compact.startsWith('[') ? partsOf(compact) : []
}

/** The parts between the commas of the outermost level of an object or array. */
function partsOf(compact: string): string[] {
  const parts: string[] = []
  let depth = 0
  let begin = 1
  for (let at = 0; at < compact.length; at += 1) {
    const character = compact[at] ?? ''
    if (character === '"') at = endOfString(compact, at)
    else if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') depth -= 1
    else if (character === ',' && depth === 1) {
      parts.push(compact.slice(begin, at))
      begin = at + 1
    }
  }
  const last = compact.slice(begin, -1)
  return last === '' ? parts : [...parts, last]
}

/** The position of the closing quote of the string that begins here. */
function endOfString(text: string, begin: number): number {
  let at = begin + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}
