import { setTimeout as delay } from 'node:timers/promises'
import { isNeverForwarded } from '../../forward/header-names.ts'
import { headerText } from '../../forward/request-headers.ts'
import { standardWebhooks } from '../../sources/catalogue/standard-webhooks.ts'
import { headerRecord } from '../../sources/headers.ts'
import { networkFault } from './gateway-calls.ts'
import type { Attempt, ListedEvent, Outcome } from './report.ts'

/* Sends one event to the local app. Retries while a developer restarts it. */

export interface Content {
  readonly body: Uint8Array<ArrayBuffer>
  /** The headers, as lines of `name: value`. */
  readonly headers: string
}

export interface LocalApp {
  readonly url: URL
  /** Signs as defined by Standard Webhooks. Undefined: requests are not signed. */
  readonly secret: string | undefined
  /** Ends the delay before the next attempt. Does not end an attempt in progress. */
  readonly stop: AbortSignal
  onAttempt(attempt: Attempt): void
}

/** Delays between the attempts. Most apps restart within their sum. */
const WAITS_MS = [500, 1_000, 2_000, 4_000] as const
/** The default timeout of a destination. */
const ANSWER_WITHIN_MS = 30_000

/** Undefined: sending was stopped before an attempt succeeded, so the event must be sent again. */
export async function sendToApp(
  app: LocalApp,
  event: ListedEvent,
  content: Content,
): Promise<Outcome | undefined> {
  const headersOf = headerMaker(app.secret, event, content)
  for (let number = 1; ; number += 1) {
    const startedAt = performance.now()
    const answer = await post(app.url, headersOf(number), content.body)
    const outcome = outcomeOf(answer)
    const retryInMs = outcome === 'failed' ? WAITS_MS[number - 1] : undefined
    const ms = Math.round(performance.now() - startedAt)
    const shown = retryInMs === undefined ? outcome : 'retry'
    app.onAttempt({ event, number, ...answer, outcome: shown, ms, retryInMs })
    if (retryInMs === undefined) return outcome
    if (!(await waited(retryInMs, app.stop))) return undefined
  }
}

/** False: sending was stopped. */
export async function waited(ms: number, stop: AbortSignal): Promise<boolean> {
  await delay(ms, undefined, { signal: stop }).catch((error) => {
    if (!stop.aborted) throw error
  })
  return !stop.aborted
}

type Answer = { readonly status: number } | { readonly error: string }

async function post(url: URL, headers: Record<string, string>, body: Content['body']): Promise<Answer> {
  try {
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal })
    // Only the status counts. An app that breaks off its response has still answered.
    await response.body?.cancel().catch(() => undefined)
    return { status: response.status }
  } catch (error) {
    return { error: networkFault(error) }
  }
}

/** A 4xx is an answer of the app, and is not retried. */
function outcomeOf(answer: Answer): 'delivered' | 'refused' | 'failed' {
  if ('error' in answer) return 'failed'
  const { status } = answer
  if (status >= 200 && status <= 299) return 'delivered'
  return status >= 500 || status === 429 ? 'failed' : 'refused'
}

/**
 * Names of signature headers. A header of the sender with such a name is renamed, as in forwarding.
 */
const SIGNATURE_NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature']

function headerMaker(
  secret: string | undefined,
  event: ListedEvent,
  { body, headers }: Content,
): (attempt: number) => Record<string, string> {
  const signer = secret === undefined ? undefined : standardWebhooks({ secret })
  const fixed = {
    'hookonce-listen': '1',
    'hookonce-source': event.source,
    'hookonce-event-key': headerText(event.eventKey),
    'hookonce-event-type': headerText(event.eventType),
  }
  const taken = new Set([...Object.keys(fixed), ...SIGNATURE_NAMES, 'hookonce-attempt'])
  const originals = Object.fromEntries(
    Object.entries(headerRecord(headers))
      .filter(([name, value]) => !isNeverForwarded(name) && isSendable(value))
      .map(([name, value]) => [taken.has(name) ? `original-${name}` : name, value]),
  )
  return (attempt) => ({
    'user-agent': 'hookonce',
    ...originals,
    ...fixed,
    'hookonce-attempt': String(attempt),
    'webhook-id': event.id,
    ...signer?.sign({ body, id: event.id, timestampMs: Date.now() }),
  })
}

/** fetch() accepts no other characters in a header. */
function isSendable(value: string): boolean {
  return /^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value)
}
