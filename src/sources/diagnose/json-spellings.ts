/** A payload in the spellings that the libraries of senders write. */
export interface JsonVariant extends Writer {
  readonly text: string
}

/**
 * The common spellings of one payload. Some details are lost in JSON.parse: the order of numeric
 * names, duplicate names, the digits of 1.0.
 */
export function* jsonSpellings(payload: object): Iterable<JsonVariant> {
  for (const writer of WRITERS) yield { ...writer, text: writer.write(payload) }
}

interface Writer {
  readonly how: string
  readonly write: (payload: object) => string
}

const compact = (payload: object): string => JSON.stringify(payload)

const WRITERS: readonly Writer[] = [
  { how: 'written without whitespace', write: compact },
  { how: 'indented by two spaces', write: (payload) => JSON.stringify(payload, null, 2) },
  { how: 'indented by four spaces', write: (payload) => JSON.stringify(payload, null, 4) },
  { how: 'indented by tabs', write: (payload) => JSON.stringify(payload, null, '\t') },
  { how: 'written with a space after each comma and colon', write: spaced },
  {
    how: 'indented by two spaces, with a line break at its end',
    write: (p) => `${JSON.stringify(p, null, 2)}\n`,
  },
  { how: 'written with \\u for letters beyond ASCII', write: (payload) => escaped(compact(payload)) },
  {
    how: 'written with a space after each comma and colon, and \\u for letters beyond ASCII',
    write: (payload) => escaped(spaced(payload)),
  },
  { how: 'written with \\/ for each slash', write: (payload) => compact(payload).replaceAll('/', '\\/') },
  {
    how: 'written with \\/ for each slash and \\u for letters beyond ASCII',
    write: (payload) => escaped(compact(payload)).replaceAll('/', '\\/'),
  },
  { how: 'written with \\u for <, > and &', write: (payload) => compact(payload).replace(/[<>&]/g, unicode) },
]

/**
 * `{"a": 1, "b": [2, 3]}`, Python's default. Line breaks occur only where JSON.stringify wrote
 * them.
 */
function spaced(payload: object): string {
  return JSON.stringify(payload, null, 1)
    .replace(/([{[])\n */g, '$1')
    .replace(/\n *([}\]])/g, '$1')
    .replace(/\n */g, ' ')
}

function escaped(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, unicode)
}

function unicode(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}
