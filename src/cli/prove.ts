import { readFileSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import { readSecret } from '../gateway/config/secrets.ts'
import { HookonceError } from '../model/errors.ts'
import { textOfThrown } from '../model/thrown.ts'
import { type EventMaker, freshEvent, recordedEvent } from '../prove/events.ts'
import { limitsOf } from '../prove/limits.ts'
import { openStage, refuseProduction, type StageRequest } from '../prove/open-stage.ts'
import { baselineLines, prove as runProof } from '../prove/prove.ts'
import { randomFrom } from '../prove/random.ts'
import { htmlReport } from '../prove/report/html.ts'
import { junitReport } from '../prove/report/junit.ts'
import type { Proof } from '../prove/result.ts'
import { prepareToSign } from '../sources/sample-events.ts'
import type { SigningSource } from '../sources/sign.ts'
import { type Command, parse, parseDuration, parsePort, usageError } from './command.ts'
import { findSource, sourceOptions } from './find-source.ts'
import { longWork } from './long-work.ts'
import { EMBEDDED, embeddedServer } from './open-ledger.ts'
import { printJson, withoutPassword } from './print.ts'
import { repeatCommand } from './prove/repeat.ts'
import { reporter } from './prove/report.ts'

const usage = `hookonce prove --url http://localhost:3000/webhooks --provider stripe [--secret env:NAME] [--database URL]
               [--downstream PORT] [--start "npm start"] [--database-env NAME] [--event event.json] [--type TYPE]
               [--related TYPE] [--prepare SQL] [--ignore TABLE] [--age-rows] [--only NAME] [--bail] [--seed N] [--rounds N]
               [--quiet 2s] [--patience 20s] [--report FILE] [--junit FILE] [--setting name=value] [--config hookonce.json]
               [--dir .hookonce] [--yes-not-production] [--json]

Tries to break a webhook receiver, in any language: it imitates the retries, lost replies, races and crashes of production, and
compares the effects of each event with those of one plain delivery. It writes into the given database: use a test system.

--url                 the receiver
--provider            a provider of the catalogue, "demo" of \`hookonce dev\`, or with --config the name of a source in that
                      file
--secret              env:NAME or file:/path; default STRIPE_WEBHOOK_SECRET and so on
--database            compares the rows of all tables: a URL of PostgreSQL, env:NAME, or "embedded" for the database of
                      \`hookonce dev\` under --dir
--downstream          records calls on this port: let the receiver call http://127.0.0.1:PORT for its other services
--start               starts the receiver, and kills it at each call and each commit that was seen
--database-env        the variable in which the receiver finds its database; default DATABASE_URL. With --start it leads
                      through a proxy that sees the commits
--event               a recorded JSON body; ids and dates are replaced. A second one is a newer event of the same object
--type                the type of the event; default the usual one of the provider
--related             the type of a later event of the same object, to try both orders
--prepare             SQL that creates the rows that the handler expects, before each schedule; $1 is the id of the object
--ignore              a table or column that does not count: schema.table, table, schema.*, table.column; may be repeated
--age-rows            lets the prover move dates in rows of its events back by 25 hours, to try a copy that arrives a day
                      later; needs --database
--only                only schedules whose names begin with this text; may be repeated
--bail                stops after the first schedule that breaks it
--seed                repeats the choices of an earlier run
--rounds              how many random schedules and rounds of copies; default 3
--quiet               the quiet time before the outcome is compared; default three times as long as an
                      effect took at first, and at least 0.4s
--patience            how long to wait for a missing effect; default 20s. Must be longer than the lease of your workers
--report              writes a page of HTML
--junit               writes a file for CI servers
--dir                 the folder of \`hookonce dev\`, with the secret of "demo" and its database; default .hookonce
--yes-not-production  allows a receiver or a database that is not on this machine, or whose name looks like production
Exits with 0 if no schedule broke it, with 1 if one did, with 2 if it could not run.`

/** Enough for an effect that follows its delivery at once. The baseline raises it if needed. */
const QUIET_MS = 400

/** Exit code if the receiver cannot be judged. */
const COULD_NOT_RUN = 2

const options = {
  ...sourceOptions,
  provider: { type: 'string' },
  database: { type: 'string' },
  'database-env': { type: 'string', default: 'DATABASE_URL' },
  downstream: { type: 'string' },
  start: { type: 'string' },
  event: { type: 'string', multiple: true, default: [] as string[] },
  type: { type: 'string' },
  related: { type: 'string' },
  prepare: { type: 'string' },
  ignore: { type: 'string', multiple: true, default: [] as string[] },
  'age-rows': { type: 'boolean', default: false },
  only: { type: 'string', multiple: true, default: [] as string[] },
  bail: { type: 'boolean', default: false },
  seed: { type: 'string' },
  rounds: { type: 'string', default: '3' },
  quiet: { type: 'string' },
  patience: { type: 'string', default: '20s' },
  report: { type: 'string' },
  junit: { type: 'string' },
  'yes-not-production': { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const

export const prove: Command = {
  usage,
  failureCode: COULD_NOT_RUN,
  async run(args) {
    const { values } = parse({ usage }, args, options)
    const database = await databaseAt(values)
    try {
      await proveReceiver(args, values, database?.url)
    } finally {
      await database?.leave?.()
    }
  },
}

async function proveReceiver(
  args: readonly string[],
  values: ReturnType<typeof parse<typeof options>>['values'],
  database: string | undefined,
): Promise<void> {
  if (values.url === undefined || values.provider === undefined)
    throw usageError({ usage }, 'give the receiver with --url, and --provider')
  const url = receiverAt(values.url)
  if (values.prepare !== undefined && database === undefined)
    throw usageError({ usage }, '--prepare needs --database')
  if (values['age-rows'] && database === undefined) throw usageError({ usage }, '--age-rows needs --database')
  if (values.event.length > 2) throw usageError({ usage }, 'give --event at most twice')
  if (!values['yes-not-production']) refuseProduction(targetsOf(url, database))
  const seed = wholeNumber('--seed', values.seed ?? String(Date.now() % 1_000_000), 4_294_967_295)
  const rounds = wholeNumber('--rounds', values.rounds, 100)
  const { source } = await findSource({ usage }, values.provider, { ...values, registeredUrl: url.href })
  const maker = await makerOf(source, url, values)
  const request: StageRequest = {
    url,
    maker,
    database,
    databaseVariable: values['database-env'],
    downstreamPort:
      values.downstream === undefined ? undefined : parsePort({ usage }, values.downstream, '--downstream'),
    start: values.start,
    prepare: values.prepare,
    ignore: values.ignore,
    quietMs: values.quiet === undefined ? QUIET_MS : parseDuration({ usage }, values.quiet),
    patienceMs: parseDuration({ usage }, values.patience),
    mayAgeRows: values['age-rows'],
  }
  const report = reporter(values.json)
  report.begin({ url: url.href, database: database && withoutPassword(database), seed })
  const startedAt = new Date()
  const { result: proof, wasInterrupted } = await longWork('schedules', async ({ signal }) => {
    const stage = await openStage(request)
    try {
      const run = await runProof({
        stage,
        random: randomFrom(seed),
        rounds,
        relatedType: values.related,
        only: values.only,
        bail: values.bail,
        repeat: (name) => repeatCommand(args, { seed, only: name }),
        onBaseline: report.baseline,
        onResult: report.result,
        stop: signal,
      })
      const { rows, calls } = stage.watchers
      return {
        verdict: run.results.some(({ outcome }) => outcome === 'broken') ? 'broken' : 'proven',
        url: url.href,
        provider: source.provider,
        type: freshEvent(maker).type,
        seed,
        startedAt: startedAt.toISOString(),
        ms: Date.now() - startedAt.getTime(),
        baseline: baselineLines(run.baseline),
        masked: [...run.baseline.mask].map((field) => field.replaceAll('|', ' ')).sort(),
        watched: [
          ...(rows ? [`rows of ${rows.tables.length} tables: ${rows.tables.join(', ')}`] : []),
          ...(calls ? [`calls to port ${values.downstream}`] : []),
          ...(stage.wasProxied() ? ['commits, through a proxy'] : []),
        ],
        unwatched: rows?.unwatched ?? [],
        boundaries: run.baseline.boundaries,
        results: run.results,
        limits: limitsOf({
          hasDatabase: rows !== undefined,
          hasDownstream: calls !== undefined,
          hasStart: values.start !== undefined,
          databaseVariable: values['database-env'],
          wasProxied: stage.wasProxied(),
        }),
      } satisfies Proof
    } finally {
      await stage.close()
    }
  })
  if (values.report !== undefined) writeReport('--report', values.report, htmlReport(proof))
  if (values.junit !== undefined) writeReport('--junit', values.junit, junitReport(proof))
  if (values.json) printJson(proof)
  else report.end(proof, { wasInterrupted, file: values.report })
  if (!wasInterrupted)
    process.exitCode = proof.verdict === 'broken' ? 1 : nothingHeld(proof) ? COULD_NOT_RUN : 0
}

/** A run without a single completed schedule proves nothing. */
function nothingHeld({ results }: Proof): boolean {
  return results.every(({ outcome }) => outcome === 'not-tried')
}

function receiverAt(text: string): URL {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw usageError({ usage }, `--url must be an http or https URL, not "${text}"`)
  return new URL(text)
}

interface Database {
  /** It may hold a password, so it is never quoted. */
  readonly url: string
  /** Leaves a server that was opened for this. */
  readonly leave?: () => Promise<void>
}

/** The URL, the value of the variable, or the database of `hookonce dev`. */
async function databaseAt({
  database: text,
  dir,
}: {
  readonly database?: string | undefined
  readonly dir: string
}): Promise<Database | undefined> {
  if (text === undefined) return undefined
  if (text === EMBEDDED) return embeddedServer(dir)
  const read = text.startsWith('env:') ? readSecret(text, process.env) : { text }
  if (!('text' in read)) throw usageError({ usage }, `--database: ${read.message}`)
  if (!/^postgres(ql)?:\/\//.test(read.text))
    throw usageError(
      { usage },
      '--database must be a URL that begins with postgres://, env:NAME, or "embedded"',
    )
  return { url: read.text }
}

function targetsOf(url: URL, database: string | undefined) {
  const receiver = { option: '--url', host: url.hostname, name: url.hostname }
  if (database === undefined) return [receiver]
  const client = new pg.Client({ connectionString: database })
  return [receiver, { option: '--database', host: client.host, name: client.database ?? '' }]
}

async function makerOf(
  source: SigningSource,
  url: URL,
  { type, event }: { readonly type?: string | undefined; readonly event: readonly string[] },
): Promise<EventMaker> {
  const path = `${url.pathname}${url.search}`
  await prepareToSign(source)
  const recorded = event.map((file) => recordedEvent(source, path, eventText(file)))
  return { source, url: path, type, recorded }
}

function eventText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new HookonceError('CONFIG_INVALID', `--event: ${file} cannot be read: ${textOfThrown(error)}`, {
      cause: error,
    })
  }
}

function writeReport(option: string, file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw new HookonceError(
      'CONFIG_INVALID',
      `${option}: ${file} cannot be written: ${textOfThrown(error)}`,
      {
        cause: error,
      },
    )
  }
}

function wholeNumber(option: string, text: string, most: number): number {
  const value = Number(text)
  if (/^\d{1,10}$/.test(text) && value >= (option === '--seed' ? 0 : 1) && value <= most) return value
  throw usageError({ usage }, `${option} must be a whole number up to ${most}, not "${text}"`)
}
