/*
 * Parses XML for places. An element is its text, or an object with its children, its attributes
 * (`@name`) and its text (`#text`). A repeated name becomes an array. Names keep their prefix:
 * `yt:videoId`.
 *
 * Supports only what feeds need. A document type is rejected, and with it every entity it could
 * define.
 */

// All alternatives begin differently, and none can match in two ways, so the time is linear.
const TOKEN =
  /<\?[\s\S]*?\?>|<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>|<\/([^\s<>/="']+)\s*>|<([^\s<>/="'!?]+)((?:\s+[^\s<>/="']+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)/y
const ATTRIBUTE = /([^\s<>/="']+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g
const KNOWN_ENTITY = /&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));/g
const CHARACTERS: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

// Feeds are five levels deep.
const MAX_DEPTH = 64

interface Element {
  readonly name: string
  readonly children: Record<string, unknown>
  text: string
}

/**
 * The document as an object whose only member is the root element. Undefined if it is not
 * well-formed.
 */
export function parseXmlText(text: string): object | undefined {
  const root: Element = { name: '', children: Object.create(null), text: '' }
  const open = [root]
  TOKEN.lastIndex = text.startsWith('\ufeff') ? 1 : 0
  while (TOKEN.lastIndex < text.length) {
    const token = TOKEN.exec(text)
    const parent = open.at(-1)
    if (token === null || parent === undefined) return undefined
    const [, cdata, closed, opened, attributes = '', selfClosed, characters] = token
    if (opened !== undefined) {
      const element: Element = { name: opened, children: attributesOf(attributes), text: '' }
      if (selfClosed === '/') append(parent, element)
      else if (open.push(element) > MAX_DEPTH) return undefined
    } else if (closed !== undefined) {
      const grandparent = open.at(-2)
      if (parent.name !== closed || grandparent === undefined) return undefined
      append(grandparent, parent)
      open.pop()
    } else parent.text += cdata ?? decoded(characters ?? '')
  }
  const isDocument = open.length === 1 && Object.keys(root.children).length === 1 && root.text.trim() === ''
  return isDocument ? root.children : undefined
}

function attributesOf(text: string): Record<string, unknown> {
  const attributes: Record<string, unknown> = Object.create(null)
  for (const [, name, quoted, apostrophed] of text.matchAll(ATTRIBUTE))
    attributes[`@${name}`] = decoded(quoted ?? apostrophed ?? '')
  return attributes
}

function append({ children }: Element, { name, children: inner, text }: Element): void {
  const isText = Object.keys(inner).length === 0
  if (!isText && text.trim() !== '') inner['#text'] = text
  const value = isText ? text : inner
  const present = children[name]
  if (present === undefined) children[name] = value
  else if (Array.isArray(present)) present.push(value)
  else children[name] = [present, value]
}

/** Unknown entities stay as written. */
function decoded(text: string): string {
  return text.replace(KNOWN_ENTITY, (written, named?: string, decimal?: string, hex?: string) => {
    if (named !== undefined) return CHARACTERS[named] ?? written
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
    return code <= 0x10_ffff ? String.fromCodePoint(code) : written
  })
}

/** An element without attributes: an object of its children, a text, or null for `nil="true"`. */
export type XmlValue = string | null | XmlElement | readonly XmlValue[]
export interface XmlElement {
  readonly [name: string]: XmlValue
}

export function withoutAttributes(value: unknown): XmlValue {
  if (Array.isArray(value)) return value.map(withoutAttributes)
  if (typeof value !== 'object' || value === null) return String(value)
  const members = Object.entries(value)
  if (members.some(([name, one]) => name === '@nil' && one === 'true')) return null
  const children = members.filter(([name]) => !/^[@#]/.test(name))
  if (children.length === 0) return String(Object.fromEntries(members)['#text'] ?? '')
  const element: Record<string, XmlValue> = Object.create(null)
  for (const [name, one] of children) element[name] = withoutAttributes(one)
  return element
}

/** Serialises an element, for samples. */
export function writeXml(value: unknown, name?: string): string {
  if (Array.isArray(value)) return value.map((one) => writeXml(one, name)).join('')
  if (typeof value !== 'object' || value === null) return `<${name}>${escaped(String(value))}</${name}>`
  const members = Object.entries(value)
  const inner = members
    .filter(([key]) => !key.startsWith('@'))
    .map(([key, one]) => (key === '#text' ? escaped(String(one)) : writeXml(one, key)))
    .join('')
  if (name === undefined) return inner
  const attributes = members
    .filter(([key]) => key.startsWith('@'))
    .map(([key, one]) => ` ${key.slice(1)}="${escaped(String(one))}"`)
  return `<${name}${attributes.join('')}>${inner}</${name}>`
}

function escaped(text: string): string {
  return text.replace(/[<>&"]/g, (character) => `&#${character.codePointAt(0)};`)
}
