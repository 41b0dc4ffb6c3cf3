import { expect, test } from 'vitest'
import { openPage } from './support/open-page.ts'
import { smallLedger } from './support/small-ledger.ts'

/* A sender of webhooks can store any text. It must stay text on every page. */

const MARKUP = '<img src=x onerror="window.ran=1"><script>window.ran=1</script><svg/onload=window.ran=1>'
const LINK = 'javascript:window.ran=1'
const body = JSON.stringify({
  id: `evt_${MARKUP}`,
  type: `customer.subscription.${MARKUP}`,
  [MARKUP]: MARKUP,
  url: LINK,
  data: { object: { id: `in_${MARKUP}`, link: LINK, host: 'https://elsewhere.example/x.png' } },
})

test('stored HTML is inert in lists, on the page of the event and in the search', async () => {
  const { dashboard, deliverText, db } = await smallLedger({ receipts: 0 })
  const id = await deliverText(body)
  await db.rows(
    `update hookonce.job set state = 'failed', finished_at = now(), reason = $1, attempt = 1, fence = 1`,
    [MARKUP],
  )
  const { page, go } = await openPage('/events', { dashboard })
  page.on('dialog', () => expect.unreachable('a dialog of the browser opened'))

  const isInert = async (): Promise<void> => {
    expect(await page.evaluate('window.ran')).toBeUndefined()
    expect(await page.locator('main img, main script, main svg[onload]').count()).toBe(0)
    expect(await page.locator('a[href^="javascript:"]').count()).toBe(0)
  }
  await page.getByText(`customer.subscription.${MARKUP}`).waitFor()
  await isInert()

  await go(`/events/${id}`)
  // The body as a tree, and as raw text.
  await page.getByRole('button', { name: 'Show the body' }).click()
  await page.getByText('elsewhere.example').first().waitFor()
  await isInert()
  await page.getByRole('button', { name: 'Raw' }).click()
  await page.getByText('"host":"https://elsewhere.example/x.png"').waitFor()
  await isInert()

  await go(`/events?q=${encodeURIComponent(`type:${MARKUP}`)}`)
  await page.getByRole('search').waitFor()
  await isInert()
  await go('/failures')
  await page.getByText('onerror').first().waitFor()
  await isInert()
})

test('integers keep every digit', async () => {
  const { dashboard, deliverText } = await smallLedger({ receipts: 0 })
  const id = await deliverText(
    '{"id":"evt_1","type":"customer.subscription.updated","big":9007199254740993,"bigger":-123456789012345678901234567890,"price":0.10}',
  )
  const { page } = await openPage(`/events/${id}`, { dashboard })
  await page.getByRole('button', { name: 'Show the body' }).click()
  await page.getByText('9007199254740993').first().waitFor()
  await page.getByText('-123456789012345678901234567890').first().waitFor()
  await page.getByText('0.10', { exact: true }).first().waitFor()
})
