import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { until } from './until.ts'

type Line = Record<string, unknown>

/** A separate process that reports events as lines of JSON. Killed at the end of the test. */
export interface TalkingProcess {
  readonly process: ChildProcess
  /** Every line so far. */
  readonly said: readonly Line[]
  /** Waits for a line with this word. */
  says(word: string): Promise<Line>
  kill(signal: NodeJS.Signals): void
  /** Waits for its exit and its last lines. Returns its exit code. */
  exited(): Promise<number | null>
}

interface Environment {
  /** The configuration that the script reads as JSON from `APP_CONFIG`. */
  readonly config: object
  readonly env?: Record<string, string> | undefined
}

export function startTalking(script: string, { config, env }: Environment): TalkingProcess {
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, ...env, APP_CONFIG: JSON.stringify(config) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said: Line[] = []
  let errors = ''
  createInterface({ input: child.stdout }).on('line', (line) => said.push(JSON.parse(line)))
  child.stderr.on('data', (chunk) => {
    errors += String(chunk)
  })
  const gone = once(child, 'exit')
  // A process may exit before all of its lines are read.
  const closed = once(child, 'close')
  let isClosed = false
  child.once('close', () => {
    isClosed = true
  })
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await gone
  })
  return {
    process: child,
    said,
    says: (word) =>
      until(`the app says "${word}"; it said ${JSON.stringify(said)}`, () => {
        const found = said.find((line) => word in line)
        if (!found && isClosed) throw new Error(`the app ended before it said "${word}": ${errors}`)
        return found
      }),
    kill: (signal) => void child.kill(signal),
    async exited() {
      await closed
      return child.exitCode
    },
  }
}
