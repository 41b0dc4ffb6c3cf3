import { randomUUID } from 'node:crypto'
import type { Observe } from '../events.ts'
import type { RunEnd } from '../run.ts'
import type { KeyId } from '../store.ts'
import { collect, identityBytes } from './collect.ts'
import { endByStatus } from './end-by-status.ts'
import { headerOf, isEvents, type Reply } from './message.ts'
import type { CheckedKeysOptions } from './options.ts'
import { type Spill, spillBody } from './spill.ts'
import { decodeReply, encodeReply, keptHeaders, type StoredReply } from './stored-reply.ts'

/*
 * Converts a handler's reply to its stored form, and back.
 */
export interface KeepContext {
  readonly id: KeyId
  readonly requestId: string | undefined
  /** Receives `not_persisted` if a body could not be stored. */
  readonly observe: Observe
}

/** The options that decide what is stored. */
export type StorageOptions = Pick<
  CheckedKeysOptions,
  'maxResultBytes' | 'storeHeaders' | 'store5xx' | 'ttlMs'
> & {
  readonly spill?: Spill | undefined
}

export async function keep(
  reply: Reply,
  options: StorageOptions,
  about: KeepContext,
): Promise<RunEnd<Reply>> {
  const end = endByStatus(reply.status, options.store5xx)
  if (end !== 'completed') return { value: reply, settle: { to: end } }
  const { stored, value } = await store(reply, options, about)
  return { value, settle: { to: 'completed', result: encodeReply(stored), ttlMs: options.ttlMs } }
}

async function store(
  reply: Reply,
  { maxResultBytes, storeHeaders, spill, ttlMs }: StorageOptions,
  { id, requestId, observe }: KeepContext,
): Promise<{ stored: StoredReply; value: Reply }> {
  const head = {
    status: reply.status,
    headers: keptHeaders(reply.headers, storeHeaders),
    ...(requestId === undefined ? {} : { request: requestId }),
  }
  const collected = await collect(reply, maxResultBytes)
  const nothing = new Uint8Array()
  const notKept = { ...head, body: 'none', bytes: nothing } as const
  if (collected.whole) {
    const { bytes } = collected
    const identity = await identityBytes(reply, bytes, maxResultBytes)
    const value = { ...reply, body: bytes }
    return { stored: identity ? { ...head, body: 'inline', bytes: identity } : notKept, value }
  }
  if (!spill || isEvents(reply) || headerOf(reply, 'content-encoding') !== undefined)
    return { stored: notKept, value: { ...reply, body: collected.body } }
  // Unique per run: a run that lost its lock must not overwrite what its successor spilled.
  const about = { name: `${id}-${randomUUID()}`, expiresInMs: ttlMs }
  const { spilled, body, error } = await spillBody(spill, collected.body, about)
  // The handler has finished, so the key is completed with or without the body.
  if (spilled === undefined) observe({ what: 'not_persisted', error })
  const stored = spilled === undefined ? notKept : { ...head, body: { spilled }, bytes: nothing }
  return { stored, value: { ...reply, body } }
}

/**
 * Restores the stored reply. `reply` is undefined if the body was not stored and the status needs
 * one.
 */
export async function restore(
  result: Uint8Array,
  { spill }: Pick<StorageOptions, 'spill'>,
): Promise<{ readonly reply: Reply | undefined; readonly location: string | undefined }> {
  const { status, headers, body, bytes } = decodeReply(result)
  const location = headerOf({ headers }, 'location')
  const whole = body === 'inline' ? bytes : body === 'none' ? undefined : await spill?.get(body.spilled)
  if (whole) return { reply: { status, headers, body: whole }, location }
  return { reply: needsNoBody(status, location) ? { status, headers, body: bytes } : undefined, location }
}

/** Whether a reply is complete without its body. */
function needsNoBody(status: number, location: string | undefined): boolean {
  return status === 204 || status === 205 || (status >= 300 && status < 400) || (status === 201 && !!location)
}
