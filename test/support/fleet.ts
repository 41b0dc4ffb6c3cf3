import { onTestFinished } from 'vitest'
import { type Hookonce, hookonce, type Logger, type Options } from '../../src/index.ts'
import type { TestDatabase } from './database.ts'
import { signed, testSource } from './source.ts'

const silent: Logger = { info: () => undefined, warn: () => undefined, error: () => undefined }

type Tenants = Readonly<Record<string, ReturnType<typeof testSource>>>

/**
 * hookonce with one source for each tenant, named like the tenant. Stopped at the end of the test.
 */
export function fleetHooks(
  db: Pick<TestDatabase, 'url'>,
  tenants: readonly string[],
  options: Partial<Omit<Options, 'sources'>> = {},
): Hookonce<Tenants> {
  const sources = Object.fromEntries(tenants.map((tenant) => [tenant, testSource({ tenant })]))
  const hooks = hookonce<Tenants>({
    database: db.url,
    sources,
    ledgers: 3,
    logger: silent,
    pollMs: 20,
    maxConnections: 4,
    ...options,
  })
  onTestFinished(() => hooks.stop({ drainMs: 0 }))
  return hooks
}

/** The status of the answer. */
export async function deliverTo(hooks: Hookonce<Tenants>, tenant: string, id: string): Promise<number> {
  const request = new Request(`http://app.test/in/${tenant}`, signed({ id, type: 'x' }))
  return (await hooks.fetch(request)).status
}

/** Three ledgers: one tenant in each. */
export const PLACES = { alpha: 'hookonce_0', beta: 'hookonce_1', gamma: 'hookonce_2' } as const
export const TENANTS = Object.keys(PLACES)
