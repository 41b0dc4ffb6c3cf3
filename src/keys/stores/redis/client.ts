import { HookonceError } from '../../../model/errors.ts'
import type { Script } from './scripts.ts'

/*
 * What the store needs of a client, by shape, so that anyone's copy of a client will do: scripts, with bytes in and out.
 */

/** Of ioredis, both `Redis` and `Cluster`. */
export interface IoredisLike {
  evalsha(sha: string, keys: number, ...args: (string | Buffer)[]): Promise<unknown>
  eval(script: string, keys: number, ...args: (string | Buffer)[]): Promise<unknown>
}

/** Of the package redis, version 5 or later: `createClient()` and `createCluster()`. */
export interface NodeRedisLike {
  /** `never`: what it takes is declared by each version in its own way, and refused by none. */
  withCommandOptions(options: never): {
    evalSha(sha: string, options: { keys: string[]; arguments: (string | Buffer)[] }): Promise<unknown>
    eval(script: string, options: { keys: string[]; arguments: (string | Buffer)[] }): Promise<unknown>
  }
}

/** The same with bytes as answers, which the types of ioredis leave out. */
interface AnswersBytes {
  evalshaBuffer: IoredisLike['evalsha']
  evalBuffer: IoredisLike['eval']
}

export interface RunsScripts {
  run(script: Script, keys: readonly string[], args: readonly (string | Buffer)[]): Promise<unknown>
}

/** The type of a bulk string in the protocol, `$`: what the package redis is told to hand out as bytes. */
const BULK_STRING = '$'.charCodeAt(0)

export function runsScripts(client: unknown): RunsScripts {
  if (isIoredis(client)) {
    return {
      run: (script, keys, args) =>
        orLoaded(
          () => client.evalshaBuffer(script.sha, keys.length, ...keys, ...args),
          () => client.evalBuffer(script.text, keys.length, ...keys, ...args),
        ),
    }
  }
  if (isNodeRedis(client)) {
    // Without its time limit: ours is the one that counts, and its own costs as much again as the command.
    const options = { typeMapping: { [BULK_STRING]: Buffer }, timeout: undefined }
    const bytes = client.withCommandOptions(options as never)
    return {
      run(script, keys, args) {
        const options = { keys: [...keys], arguments: [...args] }
        return orLoaded(
          () => bytes.evalSha(script.sha, options),
          () => bytes.eval(script.text, options),
        )
      },
    }
  }
  throw new HookonceError(
    'CONFIG_INVALID',
    'redisKeys(): `client` must be a Redis or Cluster of ioredis, or a client or cluster of the package redis from version 5',
  )
}

/** A server that has not seen the script is sent its text, once. */
async function orLoaded(bySha: () => Promise<unknown>, byText: () => Promise<unknown>): Promise<unknown> {
  try {
    return await bySha()
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return byText()
    throw error
  }
}

function isIoredis(client: unknown): client is AnswersBytes {
  return typeof client === 'object' && client !== null && 'evalshaBuffer' in client && 'evalBuffer' in client
}

function isNodeRedis(client: unknown): client is NodeRedisLike {
  return (
    typeof client === 'object' && client !== null && 'withCommandOptions' in client && 'evalSha' in client
  )
}
