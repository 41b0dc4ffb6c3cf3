import { expect, test } from 'vitest'
import { custom } from '../../../src/sources/index.ts'
import { lintEventKeys } from '../../../src/upkeep/lint-event-keys.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { receiving } from '../../support/receiver.ts'

/*
 * Each source gets events that its key does not fit, and is reported with the numbers. A correct
 * key is not reported.
 */

const source = custom({
  secret: 's',
  signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex' },
  event: { key: 'header:x-key' },
})

interface Sent {
  readonly key?: string
  readonly body: string
}

/** Receives all events. Returns the findings of the lint. */
async function found(db: TestDatabase, sent: readonly Sent[]) {
  const { hooks, post, stop } = receiving(db, { sources: { test: source } })
  for (const { key, body } of sent) {
    const { 'x-key': _, ...headers } = source.sign({ body })
    await post({
      method: 'POST',
      body,
      headers: { ...headers, ...(key === undefined ? {} : { 'x-key': key }) },
    })
  }
  const ledger = await hooks.ledger('test')
  const { shards } = ledger
  await stop()
  const findings = await lintEventKeys({ pool: db.pool, shards })
  return findings.map(({ source: name, finding, says }) => ({ name, finding, says }))
}

const many = (count: number, make: (at: number) => Sent): Sent[] =>
  Array.from({ length: count }, (_, at) => make(at))

test.each([
  {
    finding: 'constant',
    sent: many(30, (at) => ({ key: 'same', body: `{"n":${at}}` })),
    says: 'one key came with 30 of 30 deliveries, 29 times with another body',
  },
  {
    finding: 'colliding',
    sent: many(30, (at) => ({ key: `k${at % 15}`, body: `{"n":${at}}` })),
    says: '15 of 30 deliveries came under a known key with another body (15 keys)',
  },
  {
    finding: 'missing',
    sent: [
      ...many(6, (at) => ({ body: `{"n":${at}}` })),
      ...many(20, (at) => ({ key: `k${at}`, body: `{"n":${at + 100}}` })),
    ],
    says: '6 of 26 deliveries lacked their key',
  },
  {
    finding: 'never-repeated',
    sent: many(30, (at) => ({ key: `k${at}`, body: `{"n":${at % 20}}` })),
    says: '10 of 30 events had the body of an earlier one under another key',
  },
])('a key that is $finding is told with its numbers', async ({ finding, sent, says }) => {
  const db = await freshDatabase()
  expect(await found(db, sent)).toEqual([{ name: 'test', finding, says: expect.stringContaining(says) }])
  const ran = await cli(['sources', 'lint'], { DATABASE_URL: db.url })
  expect(ran.code).toBe(1)
  expect(ran.stdout).toContain(`test: ${finding}: `)
})

test('a key that identifies its events, including retries, causes no finding', async () => {
  const db = await freshDatabase()
  expect(
    await found(
      db,
      many(40, (at) => ({ key: `k${at % 30}`, body: `{"n":${at % 30}}` })),
    ),
  ).toEqual([])
  const ran = await cli(['sources', 'lint'], { DATABASE_URL: db.url })
  expect(ran).toMatchObject({ code: 0, stdout: 'the event keys of all sources look right\n' })
})
