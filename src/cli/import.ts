import { createReadStream, statSync } from 'node:fs'
import { type ImportReport, importKeys } from '../operate/import.ts'
import { actorOf } from './actor.ts'
import { parseChoice } from './choices.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { parseSource } from './filter.ts'
import { type Format, formats, importRecords } from './import-records.ts'
import { longWork } from './long-work.ts'
import { withLedger } from './open-ledger.ts'
import { print, printJson, safe } from './print.ts'

const usage = `hookonce import <source> [FILE] --why TEXT [--format keys|jsonl|csv] [--key FIELD] [--type FIELD] [--time FIELD]
                [--tenant NAME] [--by NAME] [--dry-run] [--json] [--dir DIR]

Records events that another system has processed, so that their retries are duplicates here. For the day on which you
switch to hookonce. Each key becomes a receipt without a body and without jobs. Known keys do not
change, so it can be repeated at any time. Reads FILE, or standard input.

  --format   keys: one event key per line. jsonl: one JSON object per line. csv: with a first line of names. The default is the
             ending of FILE (.jsonl, .ndjson, .csv), else keys
  --key      the field of the event key, in jsonl and csv; default key
  --type     the field of the event type, if there is one; default type
  --time     the field of the time, as 2026-01-31T12:00:00Z, if there is one; default occurredAt
  --dry-run  only counts
acme/stripe is the source stripe of tenant acme. Ctrl-C stops after the current batch. A line that cannot be read ends the command with
its number; the lines before it are recorded.`

const options = {
  ...ledgerOptions,
  format: { type: 'string' },
  key: { type: 'string', default: 'key' },
  type: { type: 'string', default: 'type' },
  time: { type: 'string', default: 'occurredAt' },
  tenant: { type: 'string' },
  by: { type: 'string' },
  why: { type: 'string' },
  'dry-run': { type: 'boolean', default: false },
} as const

export const importCommand: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 2 }, args, options)
    const [given, file = '-'] = positionals
    if (given === undefined) throw usageError({ usage }, 'give the name of a source')
    const choice = { option: '--format', words: formats }
    const format =
      values.format === undefined
        ? formatOf(file)
        : parseChoice({ usage }, { ...choice, text: values.format })
    if (values.why === undefined && !values['dry-run'])
      throw usageError({ usage }, 'give the reason with --why: the audit records it')
    const input = inputOf(file)
    const place = parseSource({ usage }, { tenant: values.tenant, source: given })
    const { key, type, time } = values
    const { result, wasInterrupted } = await withLedger(values.dir, (ledger) =>
      longWork('keys', ({ signal, onProgress }) =>
        importKeys(
          ledger,
          {
            source: place.source ?? given,
            tenant: place.tenant,
            keys: importRecords(input.chunks, { format, fields: { key, type, time } }),
            isDryRun: values['dry-run'],
            signal,
            onProgress: ({ done }) => onProgress({ done, share: input.share() }),
          },
          { by: actorOf(values.by), why: values.why ?? '' },
        ),
      ),
    )
    if (values.json) return printJson({ ...result, isComplete: !wasInterrupted })
    print(safe(reportText(result, values['dry-run'])))
    if (result.unfinished > 0) print(warningText(result))
    if (wasInterrupted) print('stopped before the end: run the same command again to continue')
  },
}

interface Input {
  readonly chunks: AsyncIterable<Buffer>
  /** The share that was read, from 0 to 1. Undefined: the size of the input is unknown. */
  share(): number | undefined
}

function inputOf(file: string): Input {
  if (file === '-') return { chunks: process.stdin, share: () => undefined }
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats?.isFile()) throw usageError({ usage }, `there is no file "${file}"`)
  let bytes = 0
  async function* chunks(): AsyncGenerator<Buffer> {
    const stream: AsyncIterable<Buffer> = createReadStream(file)
    for await (const chunk of stream) {
      bytes += chunk.byteLength
      yield chunk
    }
  }
  return { chunks: chunks(), share: () => (stats.size === 0 ? 1 : bytes / stats.size) }
}

function formatOf(file: string): Format {
  if (/\.(jsonl|ndjson)$/.test(file)) return 'jsonl'
  return file.endsWith('.csv') ? 'csv' : 'keys'
}

function reportText({ source, read, imported, known, repeated }: ImportReport, isDryRun: boolean): string {
  const done = isDryRun ? 'would be imported' : 'imported'
  return `${source}: ${read} keys read, ${imported} ${done}, ${known} known already, ${repeated} repeated`
}

function warningText({ unfinished, unfinishedReceipts }: ImportReport): string {
  const listed = unfinishedReceipts.map((id) => `  hookonce show ${id}`).join('\n')
  return `${unfinished} of the known events arrived here before the import, and their jobs are not finished. They take effect
although the other system has processed them, unless you stop them:
${listed}`
}
