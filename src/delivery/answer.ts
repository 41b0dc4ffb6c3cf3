import { type ErrorCode, type ErrorEntry, errorCatalogue } from '../model/errors.ts'
import type { Source } from '../sources/contract.ts'

/** The answer to a delivery. Bodies name the receipt or the code of the refusal, nothing else. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The rest of the request is not read, so the connection cannot be used again. */
  readonly close?: boolean
}

const JSON_HEADERS = { 'content-type': 'application/json' }

/** The statuses and bodies that a provider expects. */
type AnswerRules = Pick<Source, 'acceptedStatus' | 'acceptedBody' | 'acceptedHeaders'>

export function recorded(source: AnswerRules, receiptId: string): Answer {
  return byRules(source, source.acceptedStatus, `{"status":"recorded","receipt":"${receiptId}"}`)
}

export function knownAlready(source: AnswerRules, receiptId: string): Answer {
  return byRules(source, plainStatus(source), `{"status":"duplicate","receipt":"${receiptId}"}`)
}

/** The answer to a batch whose events are all recorded, known already, or unwanted. */
export function recordedBatch(source: AnswerRules, events: number): Answer {
  return byRules(source, source.acceptedStatus, `{"status":"recorded","events":${events}}`)
}

/** The answer if the handler ran inside the request and returned no reply of its own. */
export function processed(source: AnswerRules): Answer {
  return byRules(source, plainStatus(source), '{"status":"processed"}')
}

/** The answer to a repeated delivery if the reply to the first one was not stored. */
export function processedBefore(source: AnswerRules): Answer {
  return byRules(source, plainStatus(source), '{"status":"duplicate"}')
}

/**
 * The answer while another delivery of the same event is being handled. The provider need not
 * repeat this one.
 */
export function inProgress(source: AnswerRules): Answer {
  return byRules(source, source.acceptedStatus, '{"status":"in progress"}')
}

export function notWanted(source: AnswerRules): Answer {
  return byRules(source, plainStatus(source), '{"status":"ignored"}')
}

/** 200, unless the provider accepts only its own status. */
function plainStatus({ acceptedStatus }: AnswerRules): number {
  return acceptedStatus === 202 ? 200 : acceptedStatus
}

function byRules({ acceptedBody, acceptedHeaders }: AnswerRules, status: number, body: string): Answer {
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

/** The answer while the ledger cannot be reached. */
export function unavailable(retryAfterSeconds: number): Answer {
  return refusedWith('LEDGER_DOWN', { headers: { 'retry-after': String(retryAfterSeconds) } })
}
