import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { type SeededLedger, seededLedger } from '../support/seeded-ledger.ts'
import { testEveryView } from './support/every-view.ts'
import { openPage } from './support/open-page.ts'
import { smallDashboard } from './support/small-dashboard.ts'

/* The page of failures: groups, their events, and replays of many jobs. */

testEveryView('/failures', async (page) => {
  await page.getByRole('button', { name: /no customer cus_/ }).click()
  await page.getByRole('link', { name: /Show all/ }).waitFor()
})

const ERROR = 'TypeError: address is undefined'

async function withFailures(count: number): Promise<SeededLedger> {
  const ledger = await seededLedger()
  for (let n = 0; n < count; n += 1)
    await ledger.job(n, {
      state: 'failed',
      attempt: 5,
      reason: `gave up after 5 attempts: ${ERROR}`,
      finished_at: new Date(Date.now() - n * 60_000),
    })
  await ledger.job(900, { state: 'failed', reason: 'permanent: another error', finished_at: new Date() })
  return ledger
}

function statesOf({ db }: SeededLedger): Promise<unknown[]> {
  return db.rows(
    'select state::text as state, count(*)::integer as jobs from hookonce.job group by 1 order by 1',
  )
}

async function openPlan(page: Page): Promise<void> {
  await page.getByRole('button', { name: ERROR }).click()
  await page.keyboard.press('r')
  await page.getByRole('dialog').getByText('12 jobs, in about').waitFor()
}

/** The plan is read again when the field loses the focus. */
async function fillRate(page: Page, rate: string): Promise<void> {
  await page.getByLabel('Jobs per second').fill(rate)
  await page.getByLabel('Jobs per second').press('Tab')
}

test('a group opens by keys, and links to its events', async () => {
  const { page } = await openPage('/failures')
  await page.getByRole('button', { name: /no customer cus_/ }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  await page.keyboard.press('Enter')
  const link = page.getByRole('link', { name: /Show (all|the event)/ })
  await link.waitFor()
  expect(new URL(page.url()).searchParams.get('group')).not.toBeNull()
  const count = Number(/\d+/.exec((await link.textContent()) ?? '')?.[0])
  await link.click()
  const list = page.getByRole('grid', { name: 'Events' })
  await list.getByText('failed').first().waitFor()
  expect(new URL(page.url()).searchParams.get('q')).toMatch(
    /^source:\w+ subscriber:\w+ state:failed error:[0-9a-f]{16}$/,
  )
  // The header row, a screen of events, and the next page.
  const rows = async (): Promise<number> => Number(await list.getAttribute('aria-rowcount'))
  await expect.poll(rows).toBe(Math.min(count, 140) + 1)
})

test('a group is replayed: the plan first, then progress, then the result', async () => {
  const ledger = await withFailures(12)
  const { open } = await smallDashboard(ledger.db, { hasWorker: true })
  const { page } = await open('/failures')
  await openPlan(page)
  const dialog = page.getByRole('dialog')
  await dialog.getByText('all will wait').waitFor()
  const confirm = dialog.getByRole('button', { name: 'Replay 12 jobs' })
  expect(await confirm.isDisabled()).toBe(true)
  await fillRate(page, '1')
  await dialog.getByText('in about 12 s').waitFor()
  await fillRate(page, '100')
  await dialog.getByText('in about 1 s').waitFor()
  await dialog.getByLabel('Why?').fill('the fix is deployed')
  expect(await statesOf(ledger)).toEqual([{ state: 'failed', jobs: 13 }])
  await confirm.click()

  await page.getByRole('status').getByText('12 jobs were replayed').waitFor()
  const past = page.getByRole('table', { name: 'Past replays' })
  await past.getByRole('button', { name: new RegExp(ERROR) }).click()
  await past.getByText('the fix is deployed').waitFor()
  expect(await past.getByText('12 jobs were replayed').count()).toBe(2)
  expect(await statesOf(ledger)).toEqual([
    { state: 'failed', jobs: 1 },
    { state: 'received', jobs: 12 },
  ])
  expect(await ledger.db.rows('select action, why, detail from hookonce.audit')).toMatchObject([
    { action: 'start-replay', why: 'the fix is deployed', detail: { expected: 12, perSecond: 100 } },
  ])
  const groups = page.getByRole('table', { name: 'Failures' })
  await groups.getByRole('button', { name: ERROR }).waitFor({ state: 'detached' })
})

test('a replay is cancelled: replayed jobs stay replayed, the rest stays failed', async () => {
  const ledger = await withFailures(12)
  const { open } = await smallDashboard(ledger.db, { hasWorker: true })
  const { page } = await open('/failures')
  await openPlan(page)
  const dialog = page.getByRole('dialog')
  await fillRate(page, '1')
  await dialog.getByText('in about 12 s').waitFor()
  await dialog.getByLabel('Why?').fill('try some')
  await dialog.getByRole('button', { name: 'Replay 12 jobs' }).click()
  const running = page.getByRole('region', { name: 'Replays in progress' })
  await running.getByText(/[1-9]\d* of 12 jobs/).waitFor()
  await running.getByRole('button', { name: 'Cancel the replay' }).click()
  await dialog.getByText(/stays? failed/).waitFor()
  await dialog.getByLabel('Why?').fill('the fix is wrong')
  await dialog.getByRole('button', { name: 'Cancel the replay' }).click()
  await page
    .getByRole('table', { name: 'Past replays' })
    .getByText(/Cancelled after \d+ jobs?/)
    .waitFor()

  const [replay] = await ledger.db.rows<{ state: string; replayed: number }>(
    'select state, replayed::integer from hookonce.bulk_replay',
  )
  expect(replay?.state).toBe('cancelled')
  expect(replay?.replayed).toBeLessThan(12)
  expect(await statesOf(ledger)).toEqual([
    { state: 'failed', jobs: 13 - (replay?.replayed ?? 0) },
    { state: 'received', jobs: replay?.replayed },
  ])
})

test('a viewer sees the groups and no action', async () => {
  const { db } = await withFailures(3)
  const { open, token } = await smallDashboard(db)
  const { page } = await open('/failures', { token: await token({ name: 'eve', role: 'viewer' }) })
  await page.getByRole('button', { name: ERROR }).click()
  await page.getByRole('link', { name: 'Show all 3 events' }).waitFor()
  await page.keyboard.press('r')
  expect(await page.getByRole('button', { name: /Replay/ }).count()).toBe(0)
  expect(await page.getByRole('dialog').count()).toBe(0)
})

test('without failures, the page shows the command', async () => {
  const { db } = await seededLedger()
  const { page } = await (await smallDashboard(db)).open('/failures')
  await page.getByText('No job has failed').waitFor()
  await page.getByText('npx hookonce failures').waitFor()
})
