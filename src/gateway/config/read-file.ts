import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { type Document, isNode, isScalar, LineCounter, parseDocument, visit } from 'yaml'
import { loadModule } from '../../input/load-module.ts'
import { HookonceError } from '../../model/errors.ts'
import { jsonFault } from './json-fault.ts'
import { type PlaceOf, placesIn } from './places.ts'

/** A configuration file as it was read, before it is checked. */
export interface ReadFile {
  readonly file: string
  readonly value: unknown
  readonly placeOf: PlaceOf
}

/** A person writes a configuration, so a larger file is the wrong file. */
const MAX_CHARS = 4 * 1024 * 1024

export async function readConfigFile(file: string): Promise<ReadFile> {
  const extension = extname(file)
  if (MODULES.has(extension)) return { file, value: await loadModule(file), placeOf: () => file }
  if (extension === '.yaml' || extension === '.yml') return parseText(file, readText(file), 'YAML')
  if (extension === '.json') return parseText(file, readText(file), 'JSON')
  throw new HookonceError(
    'CONFIG_INVALID',
    `${file} has an unknown ending: a configuration ends in .json, .yaml, .yml, .ts, .mjs or .js`,
  )
}

const MODULES = new Set(['.ts', '.mts', '.mjs', '.js'])

function readText(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new HookonceError('CONFIG_INVALID', `${file} cannot be read; pass another file with --config`, {
      cause: error,
    })
  }
  if (text.length <= MAX_CHARS) return text
  throw new HookonceError('CONFIG_INVALID', `${file} is larger than ${MAX_CHARS} characters`)
}

/** JSON is also parsed as YAML, which keeps the places of all values. */
export function parseText(file: string, text: string, format: 'YAML' | 'JSON'): ReadFile {
  const lines = new LineCounter()
  // Pretty errors and warnings quote the file, which may hold a secret by mistake.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' })
  const fault = format === 'JSON' ? jsonFault(text) : undefined
  if (fault) {
    const { line, col } = lineAt(text, fault.offset)
    throw invalid(`${file}:${line}:${col} is not JSON: expected ${fault.expected}`)
  }
  const [error] = document.errors
  if (error) {
    const { line, col } = lines.linePos(error.pos[0])
    throw invalid(`${file}:${line}:${col} is not ${format}: ${withoutQuote(error.message)}`)
  }
  const oddKey = keyThatIsNoText(document)
  if (oddKey !== undefined) {
    const { line, col } = lines.linePos(oddKey)
    throw invalid(`${file}:${line}:${col}: a key must be a text, not a list, a map or an alias`)
  }
  try {
    return { file, value: document.toJS(), placeOf: placesIn(file, document, lines) }
  } catch (error) {
    // The cause is an alias without an anchor, or too many aliases.
    throw invalid(`${file} is not ${format}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The offset of the key. A text key would quote the file. */
function keyThatIsNoText(document: Document.Parsed): number | undefined {
  let offset: number | undefined
  visit(document, {
    Pair(_, { key }) {
      if (!isNode(key) || isScalar(key)) return undefined
      offset = key.range?.[0] ?? 0
      return visit.BREAK
    },
  })
  return offset
}

function withoutQuote(message: string): string {
  return message.replace(/: ".*"$/s, '')
}

function lineAt(text: string, offset: number): { line: number; col: number } {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, col: (before.at(-1)?.length ?? 0) + 1 }
}

function invalid(detail: string): HookonceError {
  return new HookonceError('CONFIG_INVALID', detail)
}
