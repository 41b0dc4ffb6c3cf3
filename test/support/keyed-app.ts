import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { until } from './until.ts'

/** A process of its own, running test/support/keyed-app.mjs. */
export interface KeyedApp {
  readonly pid: number
  says(word: string): Promise<Record<string, unknown>>
  post(behaviour: string, key: string): Promise<Response>
  kill(signal: NodeJS.Signals): void
  exited(): Promise<void>
}

const SCRIPT = fileURLToPath(new URL('./keyed-app.mjs', import.meta.url))

export async function startKeyedApp(config: object): Promise<KeyedApp> {
  const child = spawn(process.execPath, [SCRIPT], {
    env: { ...process.env, APP_CONFIG: JSON.stringify(config) },
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
  const says = (word: string): Promise<Record<string, unknown>> =>
    until(`the app says "${word}"; it said ${JSON.stringify(said)} and on stderr: ${errors}`, () =>
      said.find((line) => word in line),
    )
  const { port, pid } = await says('ready')
  return {
    pid: Number(pid),
    says,
    post: (behaviour, key) =>
      fetch(`http://127.0.0.1:${port}/${behaviour}`, {
        method: 'POST',
        body: '{"n":1}',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
      }),
    kill: (signal) => void child.kill(signal),
    exited: async () => void (await gone),
  }
}
