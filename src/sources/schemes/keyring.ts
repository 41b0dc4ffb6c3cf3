import { HookonceError } from '../../model/errors.ts'
import type { Refusal } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { type PlacedSecret, placedSecrets, type ResolvedSecret, type SecretReader } from '../options.ts'
import { type SigningKey, signingKey } from './key.ts'
import { refuse } from './refuse.ts'

/** The keys of a source. Keys from a file or a function are read again when they are stale. */
export interface Keyring {
  readonly keys: readonly SigningKey[]
  /** Returns undefined while the keys are fresh. */
  refresh?(nowMs: number): Promise<Refusal | undefined> | undefined
}

// A rotated secret is noticed within a minute, which is shorter than any provider's overlap of old
// and new.
const FRESH_MS = 60_000
// After a failure: soon enough to recover, rare enough to spare a struggling secret store.
const RETRY_MS = 5_000
// A read without an answer counts as failed. Otherwise it would block all later reads, and a
// rotated secret would never be noticed.
const READ_TIMEOUT_MS = 5_000

export function fixedKeyring(description: CheckedDescription, secret: ResolvedSecret): Keyring {
  return { keys: keysOf(description, secret) }
}

/**
 * Reads the secrets again when they are stale. While reading fails, the last secrets stay in use.
 */
export function refreshedKeyring(description: CheckedDescription, read: SecretReader): Keyring {
  let keys: readonly SigningKey[] = []
  let freshUntilMs = 0
  let pendingRead: Promise<Refusal | undefined> | undefined

  async function readSecrets(nowMs: number): Promise<Refusal | undefined> {
    try {
      keys = keysOf(description, await withTimeout(read))
      freshUntilMs = nowMs + FRESH_MS
      return undefined
    } catch (error) {
      freshUntilMs = nowMs + RETRY_MS
      if (keys.length > 0) return undefined
      // The error message of a secret store might contain a secret.
      const name =
        error instanceof HookonceError ? error.message : error instanceof Error ? error.name : 'unknown'
      return refuse('KEYS_UNAVAILABLE', `the secret could not be read (${name})`)
    }
  }

  return {
    get keys() {
      return keys
    },
    refresh(nowMs) {
      if (nowMs < freshUntilMs)
        return keys.length > 0
          ? undefined
          : Promise.resolve(refuse('KEYS_UNAVAILABLE', 'the secret could not be read a moment ago'))
      pendingRead ??= readSecrets(nowMs).finally(() => {
        pendingRead = undefined
      })
      // Only a source without any key waits for the read.
      return keys.length > 0 ? undefined : pendingRead
    },
  }
}

async function withTimeout(read: SecretReader): Promise<ResolvedSecret> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    const error = new HookonceError('KEYS_UNAVAILABLE', `no answer within ${READ_TIMEOUT_MS} ms`)
    timer = setTimeout(() => reject(error), READ_TIMEOUT_MS)
  })
  try {
    return await Promise.race([read(), timeout])
  } finally {
    clearTimeout(timer)
  }
}

function keysOf(description: CheckedDescription, secret: ResolvedSecret): SigningKey[] {
  return placedSecrets(secret, description.provider).map((placed) => {
    refuseApiKey(description, placed)
    return signingKey(description, placed)
  })
}

/**
 * Rejects API keys: they sign no delivery, and a leaked API key does more harm than a leaked
 * webhook secret.
 */
function refuseApiKey({ provider, apiKeys }: CheckedDescription, { text, position }: PlacedSecret): void {
  const prefix = apiKeys?.prefixes.find((start) => text.startsWith(start))
  if (apiKeys === undefined || prefix === undefined) return
  throw new HookonceError(
    'CONFIG_INVALID',
    `${provider}: secret ${position} begins with "${prefix}": that is an API key or token; ${apiKeys.advice}`,
  )
}
