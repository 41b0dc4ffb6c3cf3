import { type ErrorCode, type ErrorEntry, errorCatalogue } from '../model/errors.ts'

/** What the sender is told. Bodies name the receipt or the code of the refusal, and nothing else. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The rest of the request will not be read: the connection cannot be used again. */
  readonly close?: boolean
}

const JSON_HEADERS = { 'content-type': 'application/json' }

export function recorded(status: number, receiptId: string): Answer {
  return { status, headers: JSON_HEADERS, body: `{"status":"recorded","receipt":"${receiptId}"}` }
}

export function knownAlready(receiptId: string): Answer {
  return { status: 200, headers: JSON_HEADERS, body: `{"status":"duplicate","receipt":"${receiptId}"}` }
}

export const notWanted: Answer = { status: 200, headers: JSON_HEADERS, body: '{"status":"ignored"}' }

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
