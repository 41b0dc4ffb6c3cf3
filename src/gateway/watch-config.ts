import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { HookonceError } from '../model/errors.ts'
import type { Logger } from '../observe/logs.ts'

/*
 * Reloads the configuration when its file changes, and on request. The file is polled. Unlike
 * notifications of the file system, polling works in containers, over networks and for files that
 * an editor or Kubernetes replaces.
 */

export interface ConfigWatch {
  /** Reads the file again even if it has not changed, because a secret file may have changed. */
  reload(): void
  stop(): void
}

export interface WatchOptions {
  readonly file: string
  /** The digest of the file in force, taken before the file was read. */
  readonly digest: string | undefined
  readonly logger: Logger
  /** Reads the file and puts it in force. If it throws, the old configuration stays. */
  readonly apply: () => Promise<void>
}

const POLL_MS = 1_000
/** The delay after a failure that the file did not cause, such as an outage of the database. */
const RETRY_MS = 5_000

export function watchConfig({ file, digest, logger, apply }: WatchOptions): ConfigWatch {
  let known = digest
  let isWanted = false
  let isRunning = false
  let retry: NodeJS.Timeout | undefined

  function reload(): void {
    isWanted = true
    if (!isRunning) void run()
  }

  /** Changes that arrive during a reload are applied together afterwards. */
  async function run(): Promise<void> {
    isRunning = true
    while (isWanted) {
      isWanted = false
      clearTimeout(retry)
      known = digestOf(file)
      try {
        await apply()
        logger.info({ file }, 'the configuration was reloaded')
      } catch (error) {
        logger.error({ file, error: textOf(error) }, 'the configuration was not reloaded: the old one stays')
        if (!isFaultOfFile(error)) retry = setTimeout(reload, RETRY_MS).unref()
      }
    }
    isRunning = false
  }

  function onChange(): void {
    if (digestOf(file) !== known) reload()
  }

  // The file may have changed since it was read.
  onChange()
  // Compares contents. watchFile compares with the state at its own start, which is later than our
  // digest.
  const polling = setInterval(onChange, POLL_MS).unref()
  return {
    reload,
    stop() {
      clearInterval(polling)
      clearTimeout(retry)
    },
  }
}

const OF_FILE: ReadonlySet<string> = new Set(['CONFIG_INVALID', 'SECRET_MISSING', 'DESTINATION_MISSING'])

function isFaultOfFile(error: unknown): boolean {
  return error instanceof HookonceError && OF_FILE.has(error.code)
}

function textOf(error: unknown): string {
  // The message of CONFIG_INVALID contains the advice; for any other code, the catalogue does.
  if (error instanceof HookonceError && error.code !== 'CONFIG_INVALID')
    return `${error.message}. ${error.advice}`
  return error instanceof Error ? error.message : String(error)
}

/** Undefined while there is no file: an editor may be about to replace it. */
export function digestOf(file: string): string | undefined {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('hex')
  } catch {
    return undefined
  }
}
