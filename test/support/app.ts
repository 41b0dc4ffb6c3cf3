import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Options, SubscriberOptions } from '../../src/index.ts'
import type { TestDatabase } from './database.ts'
import { signed, type TestPayload } from './source.ts'
import { until } from './until.ts'

export interface AppConfig {
  readonly options?: Omit<Options, 'sources' | 'database'>
  readonly subscriber?: SubscriberOptions
  /** Orders events by the second part of their key. */
  readonly ordered?: boolean
  readonly receives?: boolean
  readonly works?: boolean
  readonly stop?: { drainMs: number }
  readonly env?: Record<string, string>
  /** Another script than app.mjs, with a configuration of its own. */
  readonly script?: string
  readonly more?: Record<string, unknown>
}

/** A process of its own, running test/support/app.mjs or another script. */
export interface App {
  readonly pid: number
  readonly process: ChildProcess
  /** Every line it has said so far. */
  readonly said: readonly Record<string, unknown>[]
  readonly url: string
  /** Waits until it says a line with this word. */
  says(word: string): Promise<Record<string, unknown>>
  send(payload: TestPayload | string): Promise<Response>
  kill(signal: NodeJS.Signals): void
  exited(): Promise<number | null>
}

const SCRIPT = fileURLToPath(new URL('./app.mjs', import.meta.url))

export async function startApp(
  database: Pick<TestDatabase, 'url'>,
  { env, script = SCRIPT, more, ...config }: AppConfig = {},
): Promise<App> {
  const child = spawn(process.execPath, [script], {
    env: {
      ...process.env,
      ...env,
      APP_CONFIG: JSON.stringify({ database: database.url, ...config, ...more }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said: Record<string, unknown>[] = []
  let errors = ''
  createInterface({ input: child.stdout }).on('line', (line) => said.push(JSON.parse(line)))
  child.stderr.on('data', (chunk) => {
    errors += String(chunk)
  })
  const gone = once(child, 'exit')
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await gone
  })
  async function says(word: string): Promise<Record<string, unknown>> {
    return until(`the app says "${word}"; it said ${JSON.stringify(said)} and on stderr: ${errors}`, () =>
      said.find((line) => word in line),
    )
  }
  const { port, pid } = await says('ready')
  const url = `http://127.0.0.1:${port}/in/test`
  return {
    pid: Number(pid),
    process: child,
    said,
    url,
    says,
    send: (payload) => fetch(url, signed(payload)),
    kill: (signal) => void child.kill(signal),
    async exited() {
      await gone
      return child.exitCode
    },
  }
}
