import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect } from 'vitest'
import { ADMIN_TOKEN, SIGNING_SECRET, seededConfig } from '../../../scripts/seeding/gateway.mjs'
import { seedLedger } from '../../../scripts/seeding/seed.mjs'
import { stripe } from '../../../src/sources/catalogue/stripe.ts'
import { type RunningCli, startCli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { listening } from '../../support/listening-server.ts'

/* A gateway with the test's own small ledger, and running workers. */
export interface SmallLedger {
  readonly db: TestDatabase
  readonly gateway: RunningCli
  /** The address of the dashboard. */
  readonly dashboard: string
  readonly token: string
  /** Creates a token with a role. */
  tokenFor(role: 'viewer' | 'operator'): Promise<string>
  /** Delivers a signed Stripe event. Returns the id of its receipt. */
  deliver(event: {
    readonly id: string
    readonly type: string
    readonly [field: string]: unknown
  }): Promise<string>
  /** Like `deliver`, with these bytes as the body. */
  deliverText(body: string): Promise<string>
}

export interface SmallLedgerOptions {
  /** 0: an empty ledger. */
  readonly receipts?: number
  readonly args?: readonly string[]
  /** False: the gateway only receives, so that seeded jobs do not change. */
  readonly works?: boolean
}

export async function smallLedger(options: SmallLedgerOptions = {}): Promise<SmallLedger> {
  const { receipts = 400, args = [], works = false } = options
  const db = await freshDatabase()
  if (receipts > 0) await seedLedger(db.pool, { receipts, seed: 7 })
  const takesAll = createServer((_, response) => response.writeHead(204).end())
  const config = join(temporaryDirectory(), 'hookonce.json')
  writeFileSync(config, JSON.stringify(seededConfig(await listening(takesAll))))
  const ports = ['--port', '0', '--admin-port', '0', '--host', '127.0.0.1']
  const only = works ? [] : ['--receive-only']
  const gateway = startCli(['serve', '--config', config, ...ports, ...only, ...args], {
    DATABASE_URL: db.url,
    SEEDED_SECRET: SIGNING_SECRET,
    HOOKONCE_ADMIN_TOKEN: ADMIN_TOKEN,
  })
  const { port, adminPort } = await gateway.line<{ port: number; adminPort: number }>('adminPort')
  const mount = args.includes('--admin-path') ? args[args.indexOf('--admin-path') + 1] : ''
  const dashboard = `http://127.0.0.1:${adminPort}${mount}`

  async function deliverText(body: string): Promise<string> {
    const headers = stripe({ secret: SIGNING_SECRET }).sign({ body })
    const response = await fetch(`http://127.0.0.1:${port}/in/stripe`, { method: 'POST', body, headers })
    expect(response.status).toBe(202)
    return ((await response.json()) as { receipt: string }).receipt
  }

  return {
    db,
    gateway,
    dashboard,
    token: ADMIN_TOKEN,
    async tokenFor(role) {
      const response = await fetch(`${dashboard}/api/v1/tokens`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: `a-${role}`, role, why: 'a test' }),
      })
      expect(response.status).toBe(201)
      return ((await response.json()) as { token: string }).token
    },
    deliver: (event) => deliverText(JSON.stringify(event)),
    deliverText,
  }
}
