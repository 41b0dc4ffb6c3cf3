import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** app.py as a process that can be killed, with an empty database. */
export async function startPythonApp(forwardSecret: string) {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-python-'))
  let child: ChildProcess | undefined
  let port = '0' // any free one; after a crash, the same

  async function start(): Promise<void> {
    const started = spawn('python3', ['app.py'], {
      env: {
        ...process.env,
        FORWARD_SECRET: forwardSecret,
        PORT: port,
        APP_DATABASE: join(folder, 'app.sqlite'),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child = started
    port = await new Promise((resolve, reject) => {
      started.once('error', () => reject(new Error('install python3')))
      started.once('exit', (code) => reject(new Error(`app.py ended with ${code}`)))
      started.stdout.on('data', (text) => {
        const [, found] = /127\.0\.0\.1:(\d+)/.exec(String(text)) ?? []
        if (found) resolve(found)
      })
    })
  }

  async function kill(): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  await start()
  return {
    start,
    kill,
    url: () => `http://127.0.0.1:${port}`,
    payments: async (): Promise<unknown> => (await fetch(`http://127.0.0.1:${port}/payments`)).json(),
    async [Symbol.asyncDispose]() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
