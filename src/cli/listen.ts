import { adminClient } from '../client/index.ts'
import { placeOf } from '../forward/forward.ts'
import { HookonceError } from '../model/errors.ts'
import { typeMatcher } from '../model/type-pattern.ts'
import { standardWebhooks } from '../sources/catalogue/standard-webhooks.ts'
import { type Command, ledgerOptions, parse, parseTime, usageError } from './command.ts'
import { fetchWithin, gatewayAt, httpUrl, secretOf, tokenOf } from './gateway-access.ts'
import { type Filter, follow } from './listen/follow.ts'
import { checkAccess } from './listen/gateway-calls.ts'
import { openPosition } from './listen/position.ts'
import { reporter } from './listen/report.ts'
import { sendToApp } from './listen/send.ts'

const usage = `hookonce listen --from https://gateway.example.com --to localhost:3000/webhooks [--source NAME] [--type PATTERN]
                [--token env:NAME] [--secret env:NAME] [--since 2h] [--json] [--dir DIR]

Sends the events that a gateway records to an app on this machine, as they arrive, one at a time and in order. All
connections go out from here. It only reads: the gateway's own destinations get their events as always.

--from     the URL of the admin listener of a gateway; for \`hookonce dev\`, http://127.0.0.1:4401
--to       the app: a port, host:port, or a URL
--source   only events of this source; may be repeated
--type     only events of this type, or of a pattern such as 'invoice.*'; may be repeated
--token    env:NAME or file:/path; default HOOKONCE_TOKEN. The token must be allowed to read bodies. Make it on the gateway:
           hookonce token create laptop --role viewer --bodies
--secret   env:NAME or file:/path; signs the requests as Standard Webhooks defines. Without it they are not signed
--since    starts at this time, or this long ago. By default it continues where it stopped, and starts with new events at its first run
--dir      where it keeps its position; default .hookonce
An attempt without an answer, or with 5xx or 429, is repeated four times within 8 seconds. Ctrl-C ends it with a summary.`

/** For all requests except the stream. */
const ANSWER_WITHIN_MS = 30_000

export const listen: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      ...ledgerOptions,
      from: { type: 'string' },
      to: { type: 'string' },
      source: { type: 'string', multiple: true, default: [] as string[] },
      type: { type: 'string', multiple: true, default: [] as string[] },
      token: { type: 'string' },
      secret: { type: 'string' },
      since: { type: 'string' },
    })
    if (values.from === undefined) throw usageError({ usage }, 'give the gateway with --from')
    const from = gatewayAt({ usage }, values.from)
    const to = appAt(values.to)
    const token = tokenOf(values.token)
    const secret = values.secret === undefined ? undefined : secretOf('--secret', values.secret)
    if (secret !== undefined) requireUsable(secret)
    const since = values.since === undefined ? undefined : parseTime({ usage }, values.since)
    const stopping = new AbortController()
    const stop = stopping.signal
    const access = { baseUrl: `${from}/api/v1`, ...(token === undefined ? {} : { token }) }
    const client = adminClient({ ...access, fetch: fetchWithin(ANSWER_WITHIN_MS, stop) })
    await checkAccess(client, from)
    const interrupt = (): void => {
      stopping.abort()
      // A second signal ends the process at once.
      process.once('SIGINT', () => process.exit(130))
    }
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
    const position = openPosition(values.dir, [from, to.href, values.source, values.type])
    const resumesAt = position.isSet() ? position.listFrom() : undefined
    if (since) position.startAt(since)
    const report = reporter(values.json)
    await follow({
      from,
      client,
      streamClient: adminClient(access),
      position,
      filter: filterOf(values.source, values.type),
      report,
      stop,
      onReady: () =>
        report.ready({
          from,
          to: placeOf(to.href),
          since: since ?? resumesAt,
          isResumed: position.isResumed && since === undefined,
          file: position.file,
        }),
      send: (event, content) =>
        sendToApp({ url: to, secret, stop, onAttempt: report.attempt }, event, content),
    })
    report.summary()
  },
}

function appAt(text: string | undefined): URL {
  if (text === undefined) throw usageError({ usage }, 'name the app to forward to: --to localhost:3000')
  // A plain number is a port. As a host, it would be an address.
  const place = /^\d+$/.test(text) ? `localhost:${text}` : text
  return httpUrl({ usage }, '--to', place.includes('://') ? place : `http://${place}`)
}

/** Reports an unusable secret before the first event arrives. */
function requireUsable(secret: string): void {
  try {
    standardWebhooks({ secret })
  } catch (error) {
    if (!(error instanceof HookonceError)) throw error
    const form = 'must be whsec_ and base64, as Standard Webhooks writes secrets'
    throw new HookonceError('CONFIG_INVALID', `--secret: the secret ${form}`, { cause: error })
  }
}

/** The gateway filters by one source and one pattern. `listen` itself filters by several. */
function filterOf(sources: readonly string[], types: readonly string[]): Filter {
  const matchers = types.map(typeMatcher)
  const [source] = sources
  const [type] = types
  return {
    query: {
      ...(source !== undefined && sources.length === 1 ? { source } : {}),
      ...(type !== undefined && types.length === 1 ? { type } : {}),
    },
    matches: (event) =>
      (sources.length === 0 || sources.includes(event.source)) &&
      (matchers.length === 0 || matchers.some((matches) => matches(event.eventType))),
  }
}
