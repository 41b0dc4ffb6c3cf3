import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { stripe } from '../../src/sources/index.ts'
import type { TestDatabase } from './database.ts'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

const SECRET = 'whsec_of_the_example'

/** A running example of the repository, started as its reader would start it. */
export interface Example {
  printed(): string
  /** Delivers `invoice.paid` like Stripe. Undefined while the example does not listen yet. */
  deliver(invoice: string): Promise<number>
  /** Waits for its exit and the rest of its output. */
  stop(): Promise<void>
  /** Resolves when the process has ended. */
  readonly gone: Promise<unknown>
}

export async function startExample(
  name: string,
  db: TestDatabase,
  more: Record<string, string> = {},
): Promise<Example> {
  const port = await freePort()
  const script = fileURLToPath(new URL(`../../examples/${name}`, import.meta.url))
  const app = spawn(process.execPath, [script], {
    env: {
      ...process.env,
      DATABASE_URL: db.url,
      STRIPE_WEBHOOK_SECRET: SECRET,
      PORT: String(port),
      ...more,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const gone = once(app, 'exit')
  // A process may exit before all of its output is read.
  const closed = once(app, 'close')
  onTestFinished(async () => {
    app.kill('SIGKILL')
    await gone
  })
  let printed = ''
  app.stdout.on('data', (chunk) => {
    printed += String(chunk)
  })
  return {
    printed: () => printed,
    gone,
    async deliver(invoice) {
      const body = JSON.stringify({
        id: `evt_${invoice}`,
        type: 'invoice.paid',
        created: 1_700_000_000,
        data: { object: { id: invoice } },
      })
      const headers = stripe({ secret: SECRET }).sign({ body })
      const url = `http://127.0.0.1:${port}/webhooks/stripe`
      const answer = await until('the example answers', () =>
        fetch(url, { method: 'POST', body, headers }).catch(() => undefined),
      )
      return answer.status
    },
    async stop() {
      app.kill('SIGTERM')
      await closed
    },
  }
}
