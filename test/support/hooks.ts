import { onTestFinished } from 'vitest'
import { type Hookonce, hookonce, type Logger, type Options } from '../../src/index.ts'
import type { TestDatabase } from './database.ts'
import { manyLedgers } from './many-ledgers.ts'
import { signed, type TestPayload, testSource } from './source.ts'

export type TestHooks = Hookonce<{ test: ReturnType<typeof testSource> }>

const silent: Logger = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** hookonce inside this process, with short polls. Stopped at the end of the test. */
export function testHooks(
  db: TestDatabase,
  options: Partial<Omit<Options, 'sources'>> = {},
  source = testSource(),
): TestHooks {
  const hooks = hookonce({
    database: db.url,
    sources: { test: source },
    logger: silent,
    pollMs: 20,
    maxConnections: 4,
    // A schema of the test's own is one ledger.
    ...(options.schema === undefined ? manyLedgers(db, { test: source }) : {}),
    ...options,
  })
  onTestFinished(() => hooks.stop({ drainMs: 0 }))
  return hooks
}

/** Delivers a signed event. Returns the receipt's id. */
export async function deliver(hooks: TestHooks, payload: TestPayload): Promise<string> {
  const response = await hooks.fetch(new Request('http://app.test/in/test', signed(payload)))
  const answer = (await response.json()) as { receipt?: string }
  if (response.status >= 300) throw new Error(`delivery of ${payload.id} was answered ${response.status}`)
  return String(answer.receipt)
}
