import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { github, type SigningSource, stripe } from '../../../src/sources/index.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { receiving } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'

/*
 * A refused delivery is diagnosed after its answer: the log of hookonce has the reason, and the
 * sender gets nothing.
 */

const live = stripe({ secret: 'whsec_live' })
const sources = { live, test: stripe({ secret: 'whsec_test' }), github: github({ secret: 'hub' }) }
const BODY = '{\n  "id": "evt_1",\n  "type": "invoice.paid"\n}'

function request(sender: SigningSource, body = BODY): RequestInit {
  return { method: 'POST', headers: sender.sign({ body: BODY }), body }
}

test('the log of rejections has the reason, next to the code; the answer does not', async () => {
  const db = await freshDatabase()
  const lines: Record<string, unknown>[] = []
  const warn = (fields: Record<string, unknown>): void => void lines.push(fields)
  const { post, stop } = receiving(db, {
    sources,
    options: { logger: { info: () => undefined, warn, error: warn } },
  })
  const answer = await post(request(sources.test), '/in/live')
  expect(answer.status).toBe(401)
  expect(await answer.text()).toBe('{"error":"SIGNATURE_MISMATCH"}')
  await stop()
  expect(await db.rows('select source, code, count::int, diagnosis from hookonce.rejection')).toEqual([
    {
      source: 'live',
      code: 'SIGNATURE_MISMATCH',
      count: 1,
      diagnosis: expect.stringContaining('the secret of the source "test"'),
    },
  ])
  expect(lines.map(({ detail }) => detail)).toContainEqual(
    expect.stringContaining('the secret of the source "test"'),
  )
  const shown = await cli(['rejections'], { DATABASE_URL: db.url })
  expect(shown.stdout).toContain('the secret of the source "test"')
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
})

test('each of several simultaneous faults is explained, of one source and of many', async () => {
  const db = await freshDatabase()
  const found: unknown[] = []
  const warn = (fields: Record<string, unknown>, message: string): void => {
    if (message === 'refused delivery diagnosed') found.push(fields.detail)
  }
  const { post, stop } = receiving(db, {
    sources,
    options: { logger: { info: () => undefined, warn, error: () => undefined } },
  })
  const answers = await Promise.all([
    post(request(live, JSON.stringify(JSON.parse(BODY))), '/in/live'),
    post(request(live, `${BODY}\n`), '/in/live'),
    post(request(sources.test), '/in/live'),
    post(request(github({ secret: 'hub' }), `\ufeff${BODY}`), '/in/github'),
    post(request(github({ secret: 'hub' })), '/in/test'),
  ])
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401])
  await stop()
  for (const cause of [
    'parsed and serialised again',
    'a line break was added',
    'the secret of the source "test"',
    'byte order mark',
    'delivery of the source "github"',
  ])
    expect(found).toContainEqual(expect.stringContaining(cause))
  const [row] = await db.rows<{ diagnosis: string }>(
    `select diagnosis from hookonce.rejection where source = 'live' and code = 'SIGNATURE_MISMATCH'`,
  )
  for (const cause of ['parsed and serialised again', 'a line break was added', 'the source "test"'])
    expect(row?.diagnosis).toContain(cause)
})

test('under a flood few are diagnosed, all are counted, and earlier findings stay', async () => {
  const db = await freshDatabase()
  const found: unknown[] = []
  const warn = (fields: Record<string, unknown>, message: string): void => {
    if (message === 'refused delivery diagnosed') found.push(fields.detail)
  }
  const { post, stop } = receiving(db, {
    sources,
    options: { logger: { info: () => undefined, warn, error: () => undefined } },
  })
  await post(request(live, JSON.stringify(JSON.parse(BODY))), '/in/live')
  await until('it was looked into', () => found.length > 0)
  // One after the other, so that no diagnosis is in progress when the next delivery arrives.
  for (let sent = 0; sent < 300; sent += 1) {
    await post(request(live, '{}'), '/in/live')
    await turn()
  }
  await stop()
  // The same fault is logged once, for any number of diagnoses, and does not hide earlier findings.
  expect(found).toEqual([
    expect.stringContaining('parsed and serialised again'),
    expect.stringContaining('alternatives matches the signature'),
  ])
  expect(await db.rows('select count::int, diagnosis from hookonce.rejection')).toEqual([
    { count: 301, diagnosis: expect.stringContaining('parsed and serialised again') },
  ])
})
