import { readFileSync } from 'node:fs'
import { HookonceError } from '../model/errors.ts'
import type { Delivery, Identified, Refusal, Source } from '../sources/contract.ts'
import { diagnose } from '../sources/diagnose/diagnose.ts'
import { headerLookup } from '../sources/headers.ts'
import { type Command, parse, usageError } from './command.ts'
import { findSource, sourceOptions } from './find-source.ts'
import { print, printJson, safe } from './print.ts'

const usage = `hookonce verify --source NAME --headers FILE --body FILE [--secret env:NAME] [--config hookonce.json]
                [--url URL] [--setting name=value] [--at TIME] [--dir .hookonce] [--json]

Verifies a delivery that was stored in two files. If it is refused, explains why: it tries the usual causes.
--source    a provider of the catalogue, "demo" of \`hookonce dev\`, or with --config the name of a source in that file
--headers   lines of "Name: value"; a first line such as "POST /in/stripe HTTP/1.1" gives the path
--body      the bytes as they arrived (curl: --data-binary)
--secret    env:NAME or file:/path; default STRIPE_WEBHOOK_SECRET and so on
--url       the URL as registered, for providers that sign it
--at        when it arrived, as 2026-01-31T12:00:00Z; default now
--dir       where \`hookonce dev\` keeps the secret of "demo"
Exits with 0 for a genuine delivery, with 1 for any other.`

export const verify: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      ...sourceOptions,
      source: { type: 'string' },
      headers: { type: 'string' },
      body: { type: 'string' },
      at: { type: 'string' },
      json: { type: 'boolean', default: false },
    })
    const { source: name, headers, body } = values
    if (name === undefined || headers === undefined || body === undefined)
      throw usageError({ usage }, 'give --source, --headers and --body')
    const { source, all } = await findSource({ usage }, name, { ...values, registeredUrl: values.url })
    const delivery = deliveryOf({
      head: bytesOf('--headers', headers).toString('latin1'),
      body: bytesOf('--body', body),
      receivedAtMs: arrivalOf(values.at),
    })
    const verdict = await judge(source, delivery)
    const diagnosis = verdict.ok
      ? undefined
      : await diagnose({ source, others: all, delivery, refusal: verdict })
    if (!verdict.ok) process.exitCode = 1
    if (values.json) return printJson(verdict.ok ? verdict : { ...verdict, diagnosis })
    print(safeLines(verdict.ok ? genuineLines(verdict) : refusedLines(verdict, diagnosis)))
  },
}

type Genuine = { readonly ok: true; readonly secret: number; readonly events: readonly Identity[] }
type Identity = Pick<Identified, 'key' | 'type' | 'objectId'>

async function judge(source: Source, delivery: Delivery): Promise<Genuine | Refusal> {
  const unprepared = await source.prepare?.(delivery)
  if (unprepared) return unprepared
  const verified = source.verify(delivery)
  if (!verified.ok) return verified
  const parts = source.split?.(delivery) ?? [delivery]
  if ('ok' in parts) return parts
  const events: Identity[] = []
  for (const part of parts) {
    const identified = source.identify(part)
    if (!identified.ok) return identified
    const { key, type, objectId } = identified
    events.push({ key, type, objectId })
  }
  return { ok: true, secret: verified.secret, events }
}

interface StoredDelivery {
  readonly head: string
  readonly body: Uint8Array
  readonly receivedAtMs: number
}

function deliveryOf({ head, body, receivedAtMs }: StoredDelivery): Delivery {
  // `curl -v` and raw dumps prefix each line.
  const lines = head.split(/\r?\n/).map((line) => line.replace(/^[<>] /, ''))
  const [, method = 'POST', url = '/'] = /^([A-Z]+) (\S+) HTTP\//.exec(lines[0] ?? '') ?? []
  const pairs = lines.flatMap((line) => {
    const colon = line.indexOf(':')
    return colon > 0 ? [`${line.slice(0, colon).trim()}: ${line.slice(colon + 1).trim()}`] : []
  })
  return { method, url, header: headerLookup(pairs.join('\n')), body, receivedAtMs }
}

function bytesOf(option: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new HookonceError('CONFIG_INVALID', `${option}: ${path} cannot be read`, { cause: error })
  }
}

function arrivalOf(text: string | undefined): number {
  if (text === undefined) return Date.now()
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw usageError({ usage }, `--at is written as 2026-01-31T12:00:00Z, not "${text}"`)
  return at
}

function genuineLines({ secret, events }: Genuine): string[] {
  return [
    secret > 0 ? `genuine: secret ${secret} made the signature` : 'genuine',
    ...events.map(
      ({ key, type, objectId }) => `  ${type}  ${key}${objectId === undefined ? '' : `  ${objectId}`}`,
    ),
  ]
}

function refusedLines({ code, detail }: Refusal, diagnosis: string | undefined): string[] {
  return [`refused: ${code}: ${detail}`, ...(diagnosis === undefined ? [] : [`  why: ${diagnosis}`])]
}

function safeLines(lines: readonly string[]): string {
  return lines.map(safe).join('\n')
}
