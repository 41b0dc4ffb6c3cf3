import { didYouMean } from '../input/closest.ts'
import { HookonceError } from '../model/errors.ts'
import { sourceNameOf } from '../model/source-key.ts'
import { textOfThrown } from '../model/thrown.ts'
import { sampleEvents, signedSample } from '../sources/sample-events.ts'
import type { SignedDelivery } from '../sources/sign.ts'
import type { GatewayConfig } from './config/config.ts'

/*
 * A test event is signed and sent to the listener like any other event, so its answer shows whether
 * the secret, the limits and the ledger work.
 */

export interface TestTarget {
  readonly tenant: string
  readonly source: string
  readonly type?: string | undefined
}

export interface TestAnswer {
  readonly status: number
  readonly answer: string
  /** Null: the event was not recorded. */
  readonly receiptId: string | null
}

export interface PreparedTest {
  readonly event: { readonly eventKey: string; readonly eventType: string }
  send(): Promise<TestAnswer>
}

export type PrepareTest = (target: TestTarget) => Promise<PreparedTest>

const ANSWER_WITHIN_MS = 10_000

/** `config` returns the configuration in force, which a reload may replace. */
export function testEvents(config: () => GatewayConfig, deliveryUrl: () => string | undefined): PrepareTest {
  return async ({ tenant, source: name, type }) => {
    const [key, source] =
      Object.entries(config().sources).find(
        ([configured, one]) => sourceNameOf(configured) === name && one.tenant === tenant,
      ) ?? []
    if (key === undefined || source === undefined) throw unknownSource(config(), { tenant, source: name })
    const origin = deliveryUrl()
    if (origin === undefined)
      throw new HookonceError(
        'CONFIG_INVALID',
        'this gateway receives no deliveries, so it has no listener to test',
      )
    const path = `/in/${encodeURIComponent(tenant)}/${encodeURIComponent(name)}`
    const [event] = sampleEvents(source, { type }, 1)
    if (!event) throw new Error('no sample event was made')
    const signed = signedSample(source, event, { url: path })
    return {
      event: { eventKey: event.key, eventType: event.type },
      send: () => post(new URL(signed.url, origin), signed),
    }
  }
}

/** Names only sources of the same tenant: the caller may see no others. */
function unknownSource({ sources }: GatewayConfig, { tenant, source }: TestTarget): HookonceError {
  const known = Object.entries(sources)
    .filter(([, one]) => one.tenant === tenant)
    .map(([key]) => sourceNameOf(key))
  const fault = `the configuration of this gateway has no source "${source}"${didYouMean(source, known)}`
  return new HookonceError('SOURCE_UNKNOWN', fault)
}

async function post(url: URL, { headers, body }: SignedDelivery): Promise<TestAnswer> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    const answer = (await response.text()).slice(0, 500)
    const receiptId = /"receipt":"([0-9a-f-]{36})"/.exec(answer)?.[1] ?? null
    return { status: response.status, answer, receiptId }
  } catch (error) {
    const detail = `the listener at ${url.origin} did not answer: ${textOfThrown(error)}`
    throw new HookonceError('LEDGER_DOWN', detail, { cause: error })
  }
}

/** The address of a listener from its own machine. */
export function urlOfListener(host: string | null, port: number): string {
  const isAny = host === null || host === '' || host === '0.0.0.0' || host === '::'
  const name = isAny ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}
