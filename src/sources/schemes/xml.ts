/** An element as an object of its children, a text, or nothing; of children that share a name, an array. */
export type XmlValue = string | null | XmlElement | readonly XmlValue[]
export interface XmlElement {
  readonly [name: string]: XmlValue
}

// Deeper than any notification.
const MAX_DEPTH = 32

// Each matches at one place only, or not at all: the text is passed through once.
const TEXT = /[^<]+/y
const TAG = /<(?:(\/)([\w.:-]+)\s*|([\w.:-]+)((?:\s+[\w.:-]+=(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?))>/y
const VERBATIM = /<!\[CDATA\[([\s\S]*?)\]\]>/y
const SILENT = /<(?:\?[^<>]*\?|!--[\s\S]*?--)>/y

const ENTITY = /&(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});/g
const NAMED: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
}

interface Open {
  readonly name: string
  readonly isNil: boolean
  readonly children: Record<string, XmlValue>
  text: string
}

/**
 * The plain XML of notifications: elements, attributes (`nil="true"` counts, others are passed over) and text. No
 * document types and no entities of their own: what has them is not read at all.
 */
export function parseXml(source: string): XmlElement | undefined {
  const root = opened('', '')
  const open: Open[] = [root]
  for (let at = 0; at < source.length; ) {
    const inner = open.at(-1) ?? root
    const found = (pattern: RegExp): RegExpExecArray | null => {
      pattern.lastIndex = at
      const match = pattern.exec(source)
      if (match !== null) at = pattern.lastIndex
      return match
    }
    const text = found(TEXT)
    if (text !== null) {
      inner.text += text[0].replace(ENTITY, characterOf)
      continue
    }
    const tag = found(TAG)
    if (tag === null) {
      const verbatim = found(VERBATIM)
      inner.text += verbatim?.[1] ?? ''
      if (verbatim === null && found(SILENT) === null) return undefined
      continue
    }
    const [, isClosing, closing, name, attributes = '', isEmpty] = tag
    if (name !== undefined) {
      if (open.length > MAX_DEPTH) return undefined
      open.push(opened(name, attributes))
    }
    if (isClosing || isEmpty) {
      const closed = open.pop()
      const outer = open.at(-1)
      if (closed === undefined || outer === undefined) return undefined
      if (isClosing && closed.name !== closing) return undefined
      add(outer.children, closed)
    }
  }
  const isWhole = open.length === 1 && root.text.trim() === ''
  return isWhole && Object.keys(root.children).length === 1 ? root.children : undefined
}

function opened(name: string, attributes: string): Open {
  const isNil = /\snil=["']true["']/.test(attributes)
  return { name, isNil, children: Object.create(null), text: '' }
}

function characterOf(entity: string): string {
  const named = NAMED[entity]
  if (named !== undefined) return named
  const digits = entity.slice(2, -1)
  const code = digits.startsWith('x') ? Number.parseInt(digits.slice(1), 16) : Number(digits)
  return code <= 0x10ffff ? String.fromCodePoint(code) : entity
}

function add(siblings: Record<string, XmlValue>, { name, isNil, children, text }: Open): void {
  const value = isNil ? null : Object.keys(children).length > 0 ? children : text
  const before = siblings[name]
  if (before === undefined) siblings[name] = value
  else if (Array.isArray(before)) before.push(value)
  else siblings[name] = [before, value]
}

/** Writes what parseXml reads. */
export function writeXml(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((one) => writeXml(name, one)).join('')
  if (value === null || value === undefined) return `<${name} nil="true"/>`
  const inner =
    typeof value === 'object'
      ? Object.entries(value)
          .map(([child, inside]) => writeXml(child, inside))
          .join('')
      : String(value).replace(/[&<>]/g, (char) => `&#${char.charCodeAt(0)};`)
  return `<${name}>${inner}</${name}>`
}
