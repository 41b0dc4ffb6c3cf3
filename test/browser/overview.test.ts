import { expect, test } from 'vitest'
import { roughly } from '../../dashboard/src/format.ts'
import { idOf, seededLedger } from '../support/seeded-ledger.ts'
import { testEveryView } from './support/every-view.ts'
import { inLargeLedger } from './support/large-ledger.ts'
import { isLoaded, openPage } from './support/open-page.ts'
import { smallDashboard } from './support/small-dashboard.ts'
import { smallLedger } from './support/small-ledger.ts'

testEveryView('/', async (page) => {
  await page.getByText('payout:po_1').first().waitFor()
  await page.getByText('3 workers').waitFor()
})

test('the numbers equal those of the ledger, for each period', async () => {
  const { page } = await openPage('/')
  const period = page.getByRole('group', { name: 'Period' })
  for (const [name, size, hours] of [
    ['1 h', 1, 1],
    ['7 d', 60, 168],
  ] as const) {
    await period.getByRole('button', { name }).click()
    await page.getByRole('button', { name, pressed: true }).waitFor()
    const stat = (label: string) =>
      page.locator('dl div').filter({ hasText: label }).locator('dd b').textContent()
    const differences = async (): Promise<unknown[]> => {
      await isLoaded(page)
      const [sum] = await inLargeLedger<{ received: number; effects: number }>(
        `select sum(received)::integer as received, sum(spared)::integer as effects from hookonce.rollup
         where size = ${size} and at > date_bin(interval '${size} minutes', now(), '2000-01-01Z') - interval '${hours} hours'`,
      )
      const found = [
        [await stat('Received'), sum?.received.toLocaleString('en')],
        [await stat('Effects not repeated'), sum?.effects.toLocaleString('en')],
      ].filter(([shown, counted]) => shown !== counted)
      // A minute may have ended since the page was loaded.
      if (found.length > 0) await page.reload()
      return found
    }
    await expect.poll(differences).toEqual([])
  }
  expect(new URL(page.url()).searchParams.get('period')).toBe('7d')
})

test('the row of a source has its numbers of the period, and its lag now', async () => {
  const { page } = await openPage('/')
  const row = page.getByRole('table', { name: 'Sources' }).getByRole('row').filter({ hasText: 'shopify' })
  const differences = async (): Promise<unknown[]> => {
    await isLoaded(page)
    const [sum] = await inLargeLedger<Record<string, number>>(
      `select sum(received)::integer as "Received", sum(processed)::integer as "Processed",
         sum(duplicate)::integer as "Duplicate", sum(rejected)::integer as "Rejected", sum(failed)::integer as "Failed"
       from hookonce.rollup where size = 10 and source = 'shopify'
         and at > date_bin(interval '10 minutes', now(), '2000-01-01Z') - interval '24 hours'`,
    )
    const [due] = await inLargeLedger<{ ms: number }>(
      `select 1000 * coalesce(extract(epoch from now() - min(j.due_at)), 0)::float8 as ms
       from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
       where s.source = 'shopify' and j.state in ('received', 'retrying') and j.due_at <= now()`,
    )
    const titles = await page
      .getByRole('table', { name: 'Sources' })
      .getByRole('columnheader')
      .allTextContents()
    const cells = await row.getByRole('cell').allTextContents()
    const shown = Object.fromEntries(titles.map((title, place) => [title, cells[place]]))
    const counted = Object.entries(sum ?? {}).map(([title, count]) => [title, count.toLocaleString('en')])
    const wanted = { ...Object.fromEntries(counted), 'Oldest due': roughly(due?.ms ?? 0) }
    const found = Object.entries(wanted).filter(([title, text]) => shown[title] !== text)
    // Acknowledgement times are upper bounds of buckets.
    for (const title of ['p50', 'p99']) expect(shown[title]).toMatch(/^\d[\d.]* ms$/)
    // An interval may have ended since the page was loaded.
    if (found.length > 0) await page.reload()
    return found.map(([title, text]) => [title, shown[title], text])
  }
  await expect.poll(differences).toEqual([])
})

test('each need for a person links to the thing that needs a decision', async () => {
  const { page } = await openPage('/')
  const needs = page.locator('.need')
  for (const [text, path, opens] of [
    ['payout:po_1', '/attention', true],
    ['failed:', '/failures', true],
    ['shopify refused 31 deliveries', '/rejections', true],
    ['crm gets nothing: its circuit is open', '/destinations', false],
    ['slack: no delivery for 3 h', '/events', false],
  ] as const) {
    await needs.filter({ hasText: text }).first().getByRole('link').click()
    await expect.poll(() => new URL(page.url()).pathname).toBe(path)
    await isLoaded(page)
    expect(await page.locator('main [aria-expanded=true]').count()).toBe(opens ? 1 : 0)
    await page.goBack()
  }
})

test('a delivery refused for its time, and a circuit on the second page of subscribers, need a person', async () => {
  const { dashboard, db, tokenFor } = await smallLedger({ receipts: 0 })
  const { page } = await openPage('/', { dashboard })
  await page.getByText('Nothing needs you').waitFor()
  await db.rows(
    `insert into hookonce.rejection (source, code, count, first_at, last_at, last_detail, diagnosis)
     values ('stripe', 'TIMESTAMP_IN_FUTURE', 4, now(), now(), 'the timestamp is 900 s ahead', '')`,
  )
  await db.rows(
    `insert into hookonce.subscriber (tenant, source, name, pattern)
     select 'default', 'stripe', 'listener-' || lpad(n::text, 3, '0'), '*' from generate_series(1, 230) n`,
  )
  await db.rows(
    `with made as (
       insert into hookonce.limiter (name, has_circuit, state, since, reason, generation, failed_probes, probe_at)
       values ('listener-230', true, 'open', now(), 'answered 503', 1, 1, now() + interval '1 hour') returning id
     )
     update hookonce.subscriber s set limiter = made.id, held_at = now() from made where s.name = 'listener-230'`,
  )
  const view = { dashboard, token: await tokenFor('viewer') }
  for (const [opened, verb] of [
    [await openPage('/', { dashboard }), 'Fix'],
    [await openPage('/', view), 'Look'],
  ] as const) {
    const needs = opened.page.locator('.need')
    await needs.filter({ hasText: 'stripe refused 4 deliveries' }).getByRole('link', { name: verb }).waitFor()
    await needs.filter({ hasText: 'listener-230 gets nothing' }).waitFor()
  }
})

test.each(['/', '/sources'])('a source on %s opens the events of its own tenant', async (path) => {
  const { db, job, row } = await seededLedger()
  const ended = { state: 'processed', started_at: new Date(), finished_at: new Date() }
  await job(1, ended)
  await row('source', { tenant: 'acme', name: 'test', key_seconds: 1e6, body_seconds: 1e5 })
  await row('subscriber', { tenant: 'acme', source: 'test', name: 'all', pattern: '*' })
  await job(2, ended)
  await db.rows(`update hookonce.receipt set tenant = 'acme' where id = $1`, [idOf(2)])
  const { page, go } = await (await smallDashboard(db)).open(path)
  for (const [name, own, other] of [
    ['test · acme', 'evt_2', 'evt_1'],
    ['test', 'evt_1', 'evt_2'],
  ] as const) {
    const sources = page.getByRole('table', { name: 'Sources' })
    await sources.getByRole('link', { name, exact: true }).click()
    const rows = page.getByRole('grid', { name: 'Events' })
    await rows.getByText(own).first().waitFor()
    expect(await rows.getByText(other).count()).toBe(0)
    await go(path)
  }
})
