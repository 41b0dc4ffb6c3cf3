import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { until } from './until.ts'

type Line = Record<string, unknown>

/** A process of its own that tells what happens in lines of JSON; killed at the end of the test. */
export interface TalkingProcess {
  readonly process: ChildProcess
  /** Every line it has said so far. */
  readonly said: readonly Line[]
  /** Waits until it says a line with this word. */
  says(word: string): Promise<Line>
  kill(signal: NodeJS.Signals): void
  /** Waits for its exit and its last lines, and gives its exit code. */
  exited(): Promise<number | null>
}

interface Environment {
  /** What the script finds as JSON in `APP_CONFIG`. */
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
  // A process exits before the last of its lines is read.
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
