import { computed, signal } from '@preact/signals'
import { ApiError, adminClient, type ResponseOf } from 'hookonce/client'
import { noteUnreachable } from './data/unreachable.ts'
import { texts } from './texts.ts'

/* The admin API, the current session, and whether the gateway can be reached. */

export type Session = ResponseOf<'GET', '/session'>

/** Undefined: not known yet. Null: nobody is logged in. */
export const session = signal<Session | null | undefined>(undefined)

/** True from a request that got no answer until the next answer arrives. */
export const isOffline = signal(false)

export const client = adminClient({
  baseUrl: new URL('api/v1', document.baseURI).href,
  csrf: () => session.peek()?.csrf ?? undefined,
  fetch: watchedFetch,
})

/** The gateway could not be reached. */
class NoAnswer extends Error {}

let failedAt = Number.NEGATIVE_INFINITY
const PROBE_EVERY_MS = 3_000

async function watchedFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  const startedAt = performance.now()
  let response: Response
  try {
    response = await fetch(...request)
  } catch (error) {
    if (isAborted(error)) throw error
    failedAt = performance.now()
    if (!isOffline.peek()) setTimeout(probe, PROBE_EVERY_MS)
    isOffline.value = true
    throw new NoAnswer(texts.errors.noAnswer, { cause: error })
  }
  // The answer to an older request does not show the present state.
  if (startedAt > failedAt) isOffline.value = false
  noteUnreachable(response)
  // The session has ended, or its token was revoked.
  if (response.status === 401 && session.peek()) session.value = null
  return response
}

/** Repeats the request until it is answered. */
function probe(): void {
  if (!isOffline.peek()) return
  client
    .get('/session')
    .catch(() => undefined)
    .finally(() => setTimeout(probe, PROBE_EVERY_MS))
}

export async function readSession(): Promise<void> {
  try {
    session.value = await client.get('/session')
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
    session.value = null
  }
}

export async function logIn(token: string): Promise<void> {
  session.value = await client.post('/session', { body: { token } })
}

export async function logOut(): Promise<void> {
  await client.delete('/session')
  session.value = null
}

/* The rights of the caller. Buttons that it may not use are hidden. */
const ROLES = ['viewer', 'operator', 'admin']
const rankOf = (role: string): number => ROLES.indexOf(role)

/** May replay, decide, pause and resume. */
export const canOperate = computed(() => rankOf(session.value?.role ?? '') >= rankOf('operator'))
/** May create and revoke tokens. */
export const canAdminister = computed(() => session.value?.role === 'admin' && session.value.tenant === null)
/** May read bodies, headers and payloads. */
export const canReadBodies = computed(() => session.value?.bodies === true)
/** May read data of the whole ledger: workers and status. */
export const seesAllTenants = computed(() => session.value?.tenant === null)

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}

/** A description of the error for a person. */
export function explain(error: unknown): string {
  if (error instanceof ApiError) {
    // The title of a problem document contains the advice.
    const { detail, title } = error.problem
    const sentences = [detail, title].filter((part) => typeof part === 'string' && part !== '')
    return sentences.length > 0 ? sentences.join('. ') : texts.errors.status(error.status)
  }
  return error instanceof Error ? error.message : String(error)
}

/** An idempotency key for one click, so that a repeated request acts once. */
export function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
}
