import { type ErrorCode, type ErrorEntry, errorCatalogue } from '../model/errors.ts'
import type { Source } from '../sources/contract.ts'

/** What the sender is told. Bodies name the receipt or the code of the refusal, and nothing else. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The rest of the request will not be read: the connection cannot be used again. */
  readonly close?: boolean
}

const JSON_HEADERS = { 'content-type': 'application/json' }

/** What a source wants of its answers. */
type Wanting = Pick<Source, 'acceptedStatus' | 'acceptedBody' | 'acceptedHeaders'>

export function recorded(source: Wanting, receiptId: string): Answer {
  return asWanted(source, source.acceptedStatus, `{"status":"recorded","receipt":"${receiptId}"}`)
}

export function knownAlready(source: Wanting, receiptId: string): Answer {
  return asWanted(source, plainStatus(source), `{"status":"duplicate","receipt":"${receiptId}"}`)
}

/** Every event of it is recorded, known already, or wanted by nobody. */
export function recordedBatch(source: Wanting, events: number): Answer {
  return asWanted(source, source.acceptedStatus, `{"status":"recorded","events":${events}}`)
}

export function notWanted(source: Wanting): Answer {
  return asWanted(source, plainStatus(source), '{"status":"ignored"}')
}

/** 200, but for the provider that takes no other status than its own. */
function plainStatus({ acceptedStatus }: Wanting): number {
  return acceptedStatus === 202 ? 200 : acceptedStatus
}

function asWanted({ acceptedBody, acceptedHeaders }: Wanting, status: number, body: string): Answer {
  if (acceptedBody === undefined && acceptedHeaders === undefined && status !== 204)
    return { status, headers: JSON_HEADERS, body }
  const isOurs = acceptedBody === undefined && status !== 204
  return {
    status,
    headers: { ...(isOurs ? JSON_HEADERS : {}), ...acceptedHeaders },
    body: isOurs ? body : (acceptedBody ?? ''),
  }
}

export function refusedWith(
  code: ErrorCode,
  more: { status?: number; headers?: Record<string, string>; close?: boolean } = {},
): Answer {
  const entry: ErrorEntry = errorCatalogue[code]
  return {
    status: more.status ?? entry.status ?? 500,
    headers: { ...JSON_HEADERS, ...more.headers },
    body: `{"error":"${code}"}`,
    ...(more.close ? { close: true } : {}),
  }
}
