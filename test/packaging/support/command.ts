import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { CLI_ENV } from '../../support/cli.ts'
import { until } from '../../support/until.ts'

/** A program and its first arguments. */
export type Command = readonly [string, ...string[]]

export interface Place {
  readonly cwd: string
  readonly env?: Record<string, string> | undefined
}

export interface Started {
  printed(): string
  /** Waits until the program has printed this text. */
  prints(text: string): Promise<void>
  exited(): Promise<number | null>
  kill(signal: NodeJS.Signals): void
}

/** Starts a program. The end of the test kills it, with every process that it started. */
export function start([file, ...args]: Command, { cwd, env = {} }: Place): Started {
  const child = spawn(file, args, {
    cwd,
    env: { ...CLI_ENV, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      printed += String(chunk)
    })
  const gone = once(child, 'close')
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null
  const kill = (signal: NodeJS.Signals): void => {
    if (child.pid !== undefined && !isGone()) process.kill(-child.pid, signal)
  }
  onTestFinished(async () => {
    kill('SIGKILL')
    await gone
  })
  return {
    printed: () => printed,
    async prints(text) {
      await until(`${file} ${args.join(' ')} prints "${text}"; it printed ${printed}`, () => {
        if (!printed.includes(text) && isGone()) throw new Error(`it ended without "${text}": ${printed}`)
        return printed.includes(text)
      })
    },
    async exited() {
      await gone
      return child.exitCode
    },
    kill,
  }
}

/**
 * Runs a program to its end, and returns its output. Throws with the output if the program fails.
 */
export async function output(command: Command, place: Place): Promise<string> {
  const started = start(command, place)
  const code = await started.exited()
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${started.printed()}`)
  return started.printed()
}
