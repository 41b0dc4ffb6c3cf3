/** An element as an object of its children, a text, or nothing; of children that share a name, an array. */
export type XmlValue = string | null | XmlElement | readonly XmlValue[]
export interface XmlElement {
  readonly [name: string]: XmlValue
}

// Deeper than any notification; each level is a call.
const MAX_DEPTH = 32

const TAG = /<(?:(\/)([\w.:-]+)\s*|([\w.:-]+)((?:\s+[\w.:-]+="[^"<]*")*)\s*(\/?)|\?[^<>]*\?)>/y
const TEXT = /[^<]*/y
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
 * document types, entities of its own, comments or sections: what holds them is not read at all.
 */
export function parseXml(source: string): XmlElement | undefined {
  const root: Open = { name: '', isNil: false, children: Object.create(null), text: '' }
  const open: Open[] = [root]
  let at = 0
  while (at < source.length) {
    const inner = open.at(-1) ?? root
    TEXT.lastIndex = at
    inner.text += TEXT.exec(source)?.[0] ?? ''
    at = TEXT.lastIndex
    if (at >= source.length) break
    TAG.lastIndex = at
    const tag = TAG.exec(source)
    if (tag === null) return undefined
    at = TAG.lastIndex
    const [, close, closing, name, attributes = '', empty] = tag
    if (name !== undefined) {
      if (open.length > MAX_DEPTH) return undefined
      open.push({ name, isNil: / nil="true"/.test(attributes), children: Object.create(null), text: '' })
    }
    if (close || empty) {
      const closed = open.pop()
      const outer = open.at(-1)
      if (closed === undefined || outer === undefined || (close && closed.name !== closing)) return undefined
      add(outer.children, closed.name, elementValue(closed))
    }
  }
  return open.length === 1 && root.text.trim() === '' && Object.keys(root.children).length === 1
    ? root.children
    : undefined
}

function elementValue({ isNil, children, text }: Open): XmlValue {
  if (isNil) return null
  if (Object.keys(children).length > 0) return children
  return text.replace(ENTITY, characterOf)
}

function characterOf(entity: string): string {
  const named = NAMED[entity]
  if (named !== undefined) return named
  const digits = entity.slice(2, -1)
  const code = digits.startsWith('x') ? Number.parseInt(digits.slice(1), 16) : Number(digits)
  return code <= 0x10ffff ? String.fromCodePoint(code) : entity
}

function add(children: Record<string, XmlValue>, name: string, value: XmlValue): void {
  const before = children[name]
  if (before === undefined) children[name] = value
  else if (Array.isArray(before)) before.push(value)
  else children[name] = [before, value]
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
