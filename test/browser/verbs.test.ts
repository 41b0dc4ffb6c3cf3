import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cli.ts'
import { idOf, seededLedger } from '../support/seeded-ledger.ts'
import { openPage } from './support/open-page.ts'
import { smallDashboard } from './support/small-dashboard.ts'
import { smallLedger } from './support/small-ledger.ts'

/* Verbs of single events, lists, alerts and destinations. Their results are rows of the ledger. */

const clipboard = (page: Page): Promise<string> => page.evaluate('navigator.clipboard.readText()')

test('an alert is acknowledged and muted', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 60 })
  const { page } = await openPage('/settings?tab=alerts', { dashboard })
  const row = page.getByRole('row').filter({ hasText: 'longest gap' })
  await row.getByRole('button', { name: 'Acknowledge' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Mute').selectOption('4 hours')
  await dialog.getByLabel('Why?').fill('the partner is told')
  await dialog.getByRole('button', { name: 'Acknowledge' }).click()
  await row.getByText('is handling it').waitFor()
  const handled = `select acknowledged_why as why, muted_until > now() + interval '3 hours' as muted
    from hookonce.alert where acknowledged_at is not null`
  expect(await db.rows(handled)).toEqual([{ why: 'the partner is told', muted: true }])
})

test('waiting jobs of one event run now', async () => {
  const { db, job } = await seededLedger()
  const due = { state: 'retrying', attempt: 2, due_at: new Date(Date.now() + 3_600_000) }
  await job(1, due)
  await job(2, due)
  const { open } = await smallDashboard(db)
  const { page } = await open(`/events/${idOf(1)}`)
  await page.getByRole('button', { name: 'Run now…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('1 job', { exact: false }).first().waitFor()
  await dialog.getByLabel('Why?').fill('the partner is back')
  await dialog.getByRole('button', { name: 'Run now' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await db.rows(`select receipt_id as id from hookonce.job where due_at <= now()`)).toEqual([
    { id: idOf(1) },
  ])

  await page.getByRole('tab', { name: 'Audit' }).click()
  await page.getByText('Ran waiting jobs now').waitFor()
  await page.getByText('the partner is back').waitFor()
})

test('a job that a circuit holds names the circuit, not a next attempt', async () => {
  const { db, job, row, subscriber } = await seededLedger()
  await job(1, { state: 'retrying', attempt: 1, due_at: new Date(Date.now() + 60_000) })
  const limiter = { name: 'all', has_circuit: true, state: 'open', reason: 'answered 503', generation: 1 }
  await row('limiter', { ...limiter, probe_at: new Date(Date.now() + 3_600_000) })
  await db.rows(
    `update hookonce.subscriber set held_at = now(), limiter = (select id from hookonce.limiter where name = 'all')
     where id = $1`,
    [subscriber],
  )
  const { open } = await smallDashboard(db)
  const { page } = await open(`/events/${idOf(1)}`)
  await page.getByText('waits: its circuit is open, next probe').waitFor()
  expect(await page.getByText('next attempt').count()).toBe(0)
})

test('a replay with a new epoch also repeats finished work', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 400 })
  const [{ id } = { id: '' }] = await db.rows<{ id: string }>(
    `select receipt_id as id from hookonce.effect where state = 'done' and mode = 'keyed' order by id limit 1`,
  )
  const epoch = `select max(epoch) from hookonce.job where receipt_id = '${id}'`
  const before = await db.number(epoch)
  const { page } = await openPage(`/events/${id}`, { dashboard })
  await page.getByRole('button', { name: 'Replay' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Also repeat finished work.').check()
  await dialog.getByText('Will happen a second time').waitFor()
  await dialog.getByLabel('Why?').fill('the mail had a wrong address')
  await dialog.getByRole('button', { name: 'Replay, and repeat all of it' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await db.number(epoch)).toBe(before + 1)
})

test('a subscriber is paused, and a destination is resumed', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 30 })
  const { page } = await openPage('/destinations', { dashboard })
  const dialog = page.getByRole('dialog')
  const paused = `select count(*) from hookonce.subscriber where paused_at is not null`
  const act = async (table: string, verb: string): Promise<void> => {
    await page
      .getByRole('table', { name: table })
      .getByRole('button', { name: `${verb} ci` })
      .click()
    await dialog.getByLabel('Why?').fill(`to ${verb} it`)
    await dialog.getByRole('button', { name: verb, exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  await act('Subscribers', 'Pause')
  expect(await db.number(paused)).toBe(1)
  await act('Destinations', 'Resume')
  expect(await db.number(paused)).toBe(0)
})

test('the next probe of an open circuit is made due, on both pages that show it', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 30 })
  const probes = `select probe_at <= now() as due, state from hookonce.limiter where state = 'open'`
  for (const [path, width] of [
    ['/destinations', 'desktop'],
    ['/', 'mobile'],
  ] as const) {
    await db.rows(`update hookonce.limiter set probe_at = now() + interval '1 hour' where state = 'open'`)
    const { page } = await openPage(path, { dashboard, width })
    await page.getByRole('button', { name: 'Probe now of crm' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The next waiting job runs now, as a probe.').waitFor()
    await dialog.getByLabel('Why?').fill(`the partner is back, on a ${width}`)
    await dialog.getByRole('button', { name: 'Probe now' }).click()
    await page.getByText('The next job of crm runs as a probe.').waitFor()
    expect(await db.rows(probes)).toEqual([{ due: true, state: 'open' }])
  }
  const audit = `select action, why, detail from hookonce.audit where why like 'the partner is back%' order by id`
  expect(await db.rows(audit)).toEqual(
    ['desktop', 'mobile'].map((width) => ({
      action: 'resume',
      why: `the partner is back, on a ${width}`,
      detail: { wasPaused: false, probes: 1 },
    })),
  )
})

test('jobs that no worker runs are moved and discarded, as their plan says', async () => {
  const { db, job, row } = await seededLedger()
  await row('subscriber', { tenant: 'default', source: 'test', name: 'next', pattern: 'x' })
  await job(1)
  await job(2, { state: 'retrying', attempt: 1, fence: 1 })
  await job(3)
  await db.rows(`update hookonce.receipt set event_type = 'y' where id = $1`, [idOf(3)])
  const { open } = await smallDashboard(db)
  const states = (): Promise<unknown[]> =>
    db.rows(
      `select right(j.receipt_id::text, 1) as job, s.name, j.state::text from hookonce.job j
       join hookonce.subscriber s on s.id = j.subscriber order by 1, 2`,
    )
  const { page } = await open('/destinations')
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Move… the jobs of all' }).click()
  for (const text of ['next gets 1 job,', '1 of y: next does not want this type.', '1 job that ran before.'])
    await dialog.getByText(text).waitFor()
  await dialog.getByLabel('Also move jobs that have run before.').check()
  await dialog.getByText('next gets 2 jobs,').waitFor()
  await dialog.getByLabel('Why?').fill('it was renamed')
  await dialog.getByRole('button', { name: 'Move' }).click()
  await page.getByText('2 jobs were moved to next.').waitFor()
  expect(await states()).toEqual([
    { job: '1', name: 'all', state: 'processed' },
    { job: '1', name: 'next', state: 'received' },
    { job: '2', name: 'all', state: 'processed' },
    { job: '2', name: 'next', state: 'received' },
    { job: '3', name: 'all', state: 'received' },
  ])

  const phone = (await open('/destinations', { width: 'mobile' })).page
  await phone.getByRole('button', { name: 'Discard… the jobs of all' }).tap()
  await phone.getByRole('dialog').getByText('1 job fails without a run.').waitFor()
  await phone.getByRole('dialog').getByLabel('Why?').fill('nobody needs it')
  await phone.getByRole('dialog').getByRole('button', { name: 'Discard' }).tap()
  await phone.getByText('1 job is discarded.').waitFor()
  expect((await states()).at(-1)).toEqual({ job: '3', name: 'all', state: 'failed' })
  expect(await db.rows(`select action, why from hookonce.audit order by id`)).toEqual([
    { action: 'move-jobs', why: 'it was renamed' },
    { action: 'discard-jobs', why: 'nobody needs it' },
  ])
})

test('a replay is cancelled from the list of events', async () => {
  const ledger = await seededLedger()
  for (let n = 0; n < 12; n += 1)
    await ledger.job(n, { state: 'failed', attempt: 5, reason: 'broken', finished_at: new Date() })
  const { open } = await smallDashboard(ledger.db, { hasWorker: true })
  const { page } = await open('/events?q=state:failed')
  await page.getByRole('button', { name: 'Replay all that match' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Jobs per second').fill('1')
  await dialog.getByLabel('Jobs per second').press('Tab')
  await dialog.getByLabel('Why?').fill('try some')
  await dialog.getByText('in about 12 s').waitFor()
  await dialog.getByRole('button', { name: 'Replay 12 jobs' }).click()
  await page.getByRole('progressbar').waitFor()
  await page.getByRole('button', { name: 'Cancel…' }).click()
  await dialog.getByLabel('Why?').fill('the fix is wrong')
  await dialog.getByRole('button', { name: 'Cancel the replay' }).click()
  await page.getByText('cancelled', { exact: true }).waitFor()
  const [replay] = await ledger.db.rows<{ state: string; replayed: number }>(
    'select state, replayed::integer from hookonce.bulk_replay',
  )
  expect(replay?.state).toBe('cancelled')
  const failed = `select count(*) from hookonce.job where state = 'failed'`
  expect(await ledger.db.number(failed)).toBe(12 - (replay?.replayed ?? 0))
})

test('the list is copied as a curl line, and saved as a whole', async () => {
  const { page } = await openPage('/events?q=source:stripe+state:failed')
  await page.getByRole('button', { name: 'Copy as curl' }).click()
  await page.getByText('Put a token into HOOKONCE_TOKEN').waitFor()
  expect(await clipboard(page)).toMatch(/^curl .*\/api\/v1\/events\?source=stripe&state=failed'$/)

  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save as JSON lines' }).click()
  const path = join(temporaryDirectory(), 'events.jsonl')
  await (await saving).saveAs(path)
  const events = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(events.length).toBeGreaterThan(0)
  await page.getByText(`Saved ${events.length.toLocaleString('en')} event`).waitFor()
  for (const { source, states } of events)
    expect([source, states.includes('failed')]).toEqual(['stripe', true])
})

test('rows are selected by their checkboxes, and all loaded rows by a key', async () => {
  const { page } = await openPage('/events?q=source:github')
  const boxes = page.getByRole('checkbox', { name: 'Select the row' })
  const selected = (): Promise<number> => page.locator('[role=grid] [aria-selected=true]').count()
  await boxes.nth(4).waitFor()
  await boxes.nth(1).click()
  await boxes.nth(3).click({ modifiers: ['Shift'] })
  await expect.poll(selected).toBe(3)
  await boxes.nth(2).click()
  await page.getByText('2 selected').waitFor()
  await page.keyboard.press('Control+a')
  await expect.poll(async () => (await selected()) === (await boxes.count())).toBe(true)
})

test('keys copy an event as curl and as a test', async () => {
  const { dashboard, deliver } = await smallLedger({ receipts: 0 })
  const id = await deliver({ id: 'evt_keys', type: 'customer.subscription.updated' })
  const { page } = await openPage(`/events/${id}`, { dashboard })
  await page.getByRole('region', { name: 'Timeline' }).waitFor()
  await page.keyboard.press('c')
  await expect.poll(() => clipboard(page)).toMatch(/^curl .*evt_keys/s)
  await page.keyboard.press('t')
  await expect.poll(() => clipboard(page)).toContain("from 'hookonce/testing'")
})

test('stale, moved and imported events are named in the list and on their pages', async () => {
  const { db, job } = await seededLedger()
  const ended = { state: 'processed', started_at: new Date(), finished_at: new Date() }
  await job(1, { ...ended, reason: 'a newer event is known' })
  await job(2, { ...ended, reason: 'MOVED to "other" by ann: renamed' })
  await job(3)
  await db.rows('delete from hookonce.job where receipt_id = $1', [idOf(3)])
  await db.rows('update hookonce.receipt set secret = -1, body = null where id = $1', [idOf(3)])
  const { open } = await smallDashboard(db)
  const { page, go } = await open('/events')
  for (const [number, state] of [
    [1, 'stale'],
    [2, 'moved'],
    [3, 'imported'],
  ] as const) {
    const row = page.getByRole('row').filter({ hasText: `evt_${number}` })
    await row.getByText(state, { exact: true }).waitFor()
    await go(`/events/${idOf(number)}`)
    await page.locator('.event-head').getByText(state, { exact: true }).waitFor()
    await go('/events')
  }
})
