import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cli.ts'
import { testEveryView } from './support/every-view.ts'
import { inLargeLedger } from './support/large-ledger.ts'
import { openPage } from './support/open-page.ts'
import { smallLedger } from './support/small-ledger.ts'

const listOf = (page: Page): Locator => page.getByRole('grid', { name: 'Events' })
/** Excludes the header row and the text below the last event. */
const rowsOf = (page: Page): Locator => listOf(page).locator('[role=rowgroup] [aria-rowindex]')
const selected = (page: Page): Promise<number> => listOf(page).locator('[aria-selected=true]').count()

/** The rows of the previous search, while the next one is read. */
const busyList = (page: Page): Locator => page.locator('[aria-busy=true]', { has: listOf(page) })

async function search(page: Page, text: string): Promise<void> {
  await page.getByRole('combobox', { name: 'Search events' }).fill(text)
  await page.keyboard.press('Enter')
  await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe(text)
  await busyList(page).waitFor({ state: 'detached' })
}

testEveryView('/events', (page) => rowsOf(page).nth(10).waitFor())

test('the back button shows the list at its old place, before anything is read again', async () => {
  const { page } = await openPage('/events')
  const grid = listOf(page)
  const row = grid.locator('[aria-rowindex="252"]')
  await rowsOf(page).nth(5).waitFor()
  const scroll = async (): Promise<number> => {
    await grid.evaluate((element) => element.scrollTo({ top: 250 * 34 }))
    return row.count()
  }
  // The rows are read page by page.
  await expect.poll(scroll).toBe(1)
  await row.click()
  await page.getByRole('region', { name: 'Timeline' }).waitFor()
  const id = new URL(page.url()).pathname.split('/').at(-1)

  let asked = 0
  await page.route('**/api/v1/events?*', () => {
    asked += 1
  })
  await page.keyboard.press('u')
  await page.locator(`#row-${id}.active`).waitFor()
  expect(await grid.evaluate((element) => element.scrollTop)).toBeGreaterThan(240 * 34)
  // Otherwise rows would move while a user reads further down.
  expect(asked).toBe(0)
  await page.unroute('**/api/v1/events?*')
  // The page of all events starts at its top.
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('link', { name: 'Events', exact: true }).click()
  await rowsOf(page).nth(5).waitFor()
  expect(await grid.evaluate((element) => element.scrollTop)).toBe(0)
})

test('the list scrolls through the history, with few rows in the page', async () => {
  const { page } = await openPage('/events')
  const grid = listOf(page)
  await rowsOf(page).nth(10).waitFor()
  for (const _ of [1, 2, 3, 4]) {
    const before = Number(await grid.getAttribute('aria-rowcount'))
    await grid.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await expect.poll(async () => Number(await grid.getAttribute('aria-rowcount'))).toBeGreaterThan(before)
  }
  expect(await rowsOf(page).count()).toBeLessThan(80)
})

test('tokens find the events in the ledger, and the address can be shared', async () => {
  const [newest] = await inLargeLedger<{ key: string; object: string }>(
    `select event_key as key, object_id as object from hookonce.receipt where source = 'github' and event_type = 'push'
     order by received_at desc limit 1`,
  )
  const { page, go } = await openPage('/events')
  await rowsOf(page).first().waitFor()

  await search(page, 'source:github type:push')
  await rowsOf(page)
    .first()
    .getByText(newest?.key ?? '')
    .waitFor()
  for (const text of await rowsOf(page).allTextContents()) expect(text).toContain('push')

  await search(page, `key:${newest?.key}`)
  await expect.poll(() => rowsOf(page).count()).toBe(1)

  await search(page, 'state:failed error:"no customer"')
  await rowsOf(page).first().getByText('failed').waitFor()

  await go(`/events?q=${encodeURIComponent(`object:${newest?.object}`)}`)
  await rowsOf(page)
    .first()
    .getByText(newest?.key ?? '')
    .waitFor()
  expect(await page.getByRole('combobox', { name: 'Search events' }).inputValue()).toBe(
    `object:${newest?.object}`,
  )

  await search(page, 'source:nobody')
  await page.getByText('No event matches').waitFor()
})

test('the rows of a search stay until the rows of the next one are there', async () => {
  const { page } = await openPage('/events?q=source%3Ashopify')
  await rowsOf(page).nth(10).waitFor()
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route('**/api/v1/events?source=github*', async (route) => {
    await released
    await route.continue()
  })
  await page.getByRole('combobox', { name: 'Search events' }).fill('source:github')
  await page.keyboard.press('Enter')
  await busyList(page).waitFor()
  for (const text of await rowsOf(page).allTextContents()) expect(text).toContain('shopify')
  release()
  await busyList(page).waitFor({ state: 'detached' })
  for (const text of await rowsOf(page).allTextContents()) expect(text).toContain('github')
})

test('a search that fails shows its error in place of the old rows', async () => {
  const { page, faults } = await openPage('/events')
  faults.expect(/^400: GET .*since=/)
  await rowsOf(page).nth(10).waitFor()
  await search(page, 'since:yesterday-ish')
  await page.getByRole('alert').waitFor()
  expect(await rowsOf(page).count()).toBe(0)
})

test('the search completes names and values', async () => {
  const { page } = await openPage('/events')
  const field = page.getByRole('combobox', { name: 'Search events' })
  await field.pressSequentially('sou')
  await page.getByRole('option', { name: 'source:' }).waitFor()
  await page.keyboard.press('Tab')
  await field.pressSequentially('sho')
  await page.getByRole('option', { name: 'shopify' }).waitFor()
  await page.keyboard.press('Tab')
  expect(await field.inputValue()).toBe('source:shopify ')
  await page.keyboard.press('Enter')
  await rowsOf(page).first().getByText('shopify').waitFor()
})

test('rows are selected with the mouse, also with shift, and saved as JSON lines', async () => {
  const { page } = await openPage('/events')
  await rowsOf(page).nth(6).waitFor()
  await rowsOf(page)
    .nth(1)
    .click({ modifiers: ['Control'] })
  await rowsOf(page)
    .nth(5)
    .click({ modifiers: ['Shift'] })
  await expect.poll(() => selected(page)).toBe(5)
  await page.getByText('5 selected').waitFor()

  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save as JSON lines' }).click()
  const path = join(temporaryDirectory(), 'events.jsonl')
  await (await saving).saveAs(path)
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  expect(lines.map((line) => typeof JSON.parse(line).eventKey)).toEqual(Array(5).fill('string'))

  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  await expect.poll(() => selected(page)).toBe(0)
})

test('selected events are replayed together', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 400 })
  const { page } = await openPage('/events?q=source%3Agithub+state%3Aprocessed', { dashboard })
  await rowsOf(page).nth(4).waitFor()
  await rowsOf(page)
    .nth(1)
    .click({ modifiers: ['Control'] })
  await rowsOf(page)
    .nth(3)
    .click({ modifiers: ['Shift'] })
  await page.keyboard.press('r')
  const dialog = page.getByRole('dialog', { name: 'Replay 3 events' })
  await dialog.getByLabel('Why?').fill('CI was down')
  await dialog.getByRole('button', { name: 'Replay' }).click()
  await dialog.waitFor({ state: 'detached' })
  const replayed = `select count(*) from hookonce.audit a join hookonce.job j on j.receipt_id::text = a.subject
    where a.action = 'replay' and a.why = 'CI was down' and j.state = 'received' and j.attempt = 0`
  expect(await db.number(replayed)).toBe(3)
})

test('all matching events are planned and replayed in the background, and the progress is shown', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 2_000, works: true })
  const failed = `select count(*) from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
    where s.name = 'fulfilment' and j.state = 'failed'`
  const before = await db.number(failed)
  expect(before).toBeGreaterThan(2)
  const { page } = await openPage('/events?q=state%3Afailed+subscriber%3Afulfilment', { dashboard })
  await page.getByRole('button', { name: 'Replay all that match' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(new RegExp(`^${before} jobs`)).waitFor()
  await dialog.getByLabel('Why?').fill('the warehouse answers again')
  await dialog.getByRole('button', { name: new RegExp(`${before}`) }).click()
  await page.getByRole('progressbar').waitFor()
  await expect.poll(() => db.number(failed), { timeout: 30_000 }).toBe(0)
  await expect
    .poll(() =>
      db.rows(`select state, replayed::integer from hookonce.bulk_replay where actor not in ('ann', 'bob')`),
    )
    .toEqual([{ state: 'done', replayed: before }])
  await page.getByRole('button', { name: 'Close', exact: true }).waitFor()
})

test('waiting jobs run now, after a plan and with a reason', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 60 })
  await db.rows(`update hookonce.job set state = 'retrying', attempt = 2, due_at = now() + interval '1 hour'
    where (shard, receipt_id, subscriber) in (
      select j.shard, j.receipt_id, j.subscriber from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
      where s.source = 'github' and j.state = 'processed' limit 3)`)
  const waiting = `select count(*) from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
    where s.source = 'github' and j.state = 'retrying' and j.due_at > now()`
  const before = await db.number(waiting)
  expect(before).toBeGreaterThan(1)
  const { page } = await openPage('/events?q=state%3Aretrying+source%3Agithub', { dashboard })
  await page.getByRole('button', { name: 'Run waiting jobs now' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(new RegExp(`^${before} jobs`)).waitFor()
  await dialog.getByLabel('Why?').fill('the runner is back')
  await dialog.getByRole('button', { name: 'Run now' }).click()
  await page.getByText(`${before} jobs are due now.`).waitFor()
  expect(await db.number(waiting)).toBe(0)
  expect(await db.rows(`select why from hookonce.audit where action = 'retry-now'`)).toEqual([
    { why: 'the runner is back' },
  ])
})
