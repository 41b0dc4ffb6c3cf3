import { expect, test } from 'vitest'
import { openPage } from './support/open-page.ts'
import { smallLedger } from './support/small-ledger.ts'

const sessions = 'select count(*) from hookonce.session where expires_at > now()'

test('a wrong token is refused, a right one opens the page, and logging out ends the session', async () => {
  const { dashboard, db, token } = await smallLedger({ receipts: 30 })
  const { page, faults } = await openPage('/events', { dashboard, token: null })
  faults.expect(/^401: /)

  await page.getByLabel('Token').fill('not-a-token-of-this-gateway')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('alert').waitFor()
  expect(await db.number(sessions)).toBe(0)

  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Log in' }).click()
  // The requested address is kept.
  await page.getByRole('grid', { name: 'Events' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/events')
  expect(await db.number(sessions)).toBe(1)
  // Neither scripts nor the storage can read the session.
  expect(await page.evaluate('[document.cookie, JSON.stringify(localStorage)].join()')).not.toContain(token)

  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Token').waitFor()
  expect(await db.number(sessions)).toBe(0)
  await page.reload()
  await page.getByLabel('Token').waitFor()
})

test('a session whose token is revoked leads back to the log-in', async () => {
  const { dashboard, db, tokenFor } = await smallLedger({ receipts: 30 })
  const { page, faults } = await openPage('/events', { dashboard, token: await tokenFor('operator') })
  await page.getByRole('grid', { name: 'Events' }).waitFor()
  faults.expect(/^401: /)
  await db.rows(`update hookonce.token set revoked_at = now() where name = 'a-operator'`)
  await db.rows(`delete from hookonce.session`)
  // Another request of the page may have found the ended session first. Then the link no longer
  // exists.
  await page.evaluate(`document.querySelector('a[href="/"]')?.click()`)
  await page.getByLabel('Token').waitFor()
})
