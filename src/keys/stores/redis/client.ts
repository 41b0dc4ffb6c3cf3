import { HookonceError } from '../../../model/errors.ts'
import type { Script } from './scripts.ts'

/*
 * What the store needs from a client, by shape, so that any installed version works: scripts, with
 * bytes as arguments and results.
 */

/** `Redis` and `Cluster` of ioredis. */
export interface IoredisLike {
  evalsha(sha: string, keys: number, ...args: (string | Buffer)[]): Promise<unknown>
  eval(script: string, keys: number, ...args: (string | Buffer)[]): Promise<unknown>
}

/** `createClient()` and `createCluster()` of the package redis, version 5 or later. */
export interface NodeRedisLike {
  /**
   * `never`: every version declares its own parameter type, and `never` is assignable to all of
   * them.
   */
  withCommandOptions(options: never): {
    evalSha(sha: string, options: { keys: string[]; arguments: (string | Buffer)[] }): Promise<unknown>
    eval(script: string, options: { keys: string[]; arguments: (string | Buffer)[] }): Promise<unknown>
  }
}

/** The same methods with bytes as results. The types of ioredis leave them out. */
interface BufferCommands {
  evalshaBuffer: IoredisLike['evalsha']
  evalBuffer: IoredisLike['eval']
}

export interface ScriptRunner {
  /** The client may keep `keys` and `args`, so the caller must not change them after the call. */
  run(script: Script, keys: string[], args: (string | Buffer)[]): Promise<unknown>
}

/**
 * The type of a bulk string in the protocol, `$`. The package redis is configured to return it as
 * bytes.
 */
const BULK_STRING = '$'.charCodeAt(0)

export function scriptRunner(client: unknown): ScriptRunner {
  if (isIoredis(client)) {
    return {
      run: (script, keys, args) =>
        evalShaOrText(
          () => client.evalshaBuffer(script.sha, keys.length, ...keys, ...args),
          () => client.evalBuffer(script.text, keys.length, ...keys, ...args),
        ),
    }
  }
  if (isNodeRedis(client)) {
    // Without the client's timeout: the store call has its own, and the client's costs as much as
    // the command.
    const options = { typeMapping: { [BULK_STRING]: Buffer }, timeout: undefined }
    const bytes = client.withCommandOptions(options as never)
    return {
      run(script, keys, args) {
        const options = { keys, arguments: args }
        return evalShaOrText(
          () => bytes.evalSha(script.sha, options),
          () => bytes.eval(script.text, options),
        )
      },
    }
  }
  throw new HookonceError(
    'CONFIG_INVALID',
    'redisKeys(): `client` must be a Redis or Cluster of ioredis, or a client or cluster of the package redis, version 5 or later',
  )
}

/** Sends the text of a script once, to a server that does not know it yet. */
async function evalShaOrText(
  bySha: () => Promise<unknown>,
  byText: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return await bySha()
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return byText()
    throw error
  }
}

function isIoredis(client: unknown): client is BufferCommands {
  return typeof client === 'object' && client !== null && 'evalshaBuffer' in client && 'evalBuffer' in client
}

function isNodeRedis(client: unknown): client is NodeRedisLike {
  return (
    typeof client === 'object' && client !== null && 'withCommandOptions' in client && 'evalSha' in client
  )
}
