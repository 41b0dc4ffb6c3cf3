import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { HookonceError } from '../model/errors.ts'
import type { AheadClock } from './clock/ahead.ts'
import { isListening } from './send.ts'

/** The receiver, if the prover itself starts it. */
export interface ReceiverProcess {
  /** Starts the receiver and waits until it accepts connections. */
  start(): Promise<void>
  /** Starts it with its clock ahead. Returns the reason if the clock cannot be moved. */
  startAhead(aheadMs: number): Promise<string | undefined>
  /** `kill -9` of the whole process group of the receiver, without delay. */
  kill(): void
  /** Kills the receiver and waits until its port is closed. */
  killAndWait(): Promise<void>
}

/** Enough for a large app on a busy machine. */
const READY_WITHIN_MS = 60_000
/** A killed process closes its port at once. */
const GONE_WITHIN_MS = 10_000
/** The part of the output that is shown if the receiver does not start. */
const SHOWN_OUTPUT = 2_000

const NOT_NODE =
  'the process that listens did not load a clock through NODE_OPTIONS, so it is not Node.js; with --age-rows, the dates of its rows are moved instead'

interface ReceiverSettings {
  readonly env: NodeJS.ProcessEnv
  readonly clock: AheadClock
}

export function receiverProcess(
  command: string,
  url: URL,
  { env, clock }: ReceiverSettings,
): ReceiverProcess {
  let child: ChildProcess | undefined
  let output = ''

  const kill = (): void => {
    const pid = child?.pid
    child = undefined
    if (pid === undefined) return
    try {
      process.kill(-pid, 'SIGKILL')
    } catch (error) {
      // ESRCH: the process has already ended.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
    }
  }

  async function startWith(environment: NodeJS.ProcessEnv): Promise<void> {
    if (await isListening(url))
      throw new HookonceError(
        'CONFIG_INVALID',
        `something already listens at ${url.origin}; stop it, because --start runs the receiver itself`,
      )
    output = ''
    // The receiver gets its own process group, so that its children are killed with it.
    const started = spawn(command, {
      shell: true,
      detached: true,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = started
    for (const stream of [started.stdout, started.stderr])
      stream.on('data', (chunk) => {
        output = (output + String(chunk)).slice(-SHOWN_OUTPUT)
      })
    const deadline = Date.now() + READY_WITHIN_MS
    while (!(await isListening(url))) {
      const ended = started.exitCode !== null || started.signalCode !== null
      if (ended || Date.now() > deadline) {
        kill()
        const what = ended ? 'ended before it listened' : 'does not listen'
        throw new HookonceError(
          'CONFIG_INVALID',
          `--start: \`${command}\` ${what} at ${url.origin}; its last output:\n${output.trim() || '(none)'}`,
        )
      }
      await sleep(50)
    }
  }

  return {
    start: () => startWith(env),
    async startAhead(aheadMs) {
      try {
        await startWith(clock.environment(env, aheadMs))
      } catch (error) {
        if (error instanceof HookonceError) return `with its clock moved, ${error.message}`
        throw error
      }
      return (await clock.isFollowed()) ? undefined : NOT_NODE
    },
    kill,
    async killAndWait() {
      kill()
      const deadline = Date.now() + GONE_WITHIN_MS
      while (await isListening(url)) {
        if (Date.now() > deadline)
          throw new HookonceError(
            'CONFIG_INVALID',
            `something still listens at ${url.origin} after kill -9 of \`${command}\`; start the receiver itself with --start, not a program that starts it in the background`,
          )
        await sleep(20)
      }
    },
  }
}
