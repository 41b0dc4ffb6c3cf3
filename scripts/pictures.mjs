// Makes the pictures of the dashboard in the README:
//   node scripts/pictures.mjs [--seed 1]
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { withSeededGateway } from './seeding/seeded-gateway.mjs'
import { withPage } from './seeding/signed-in.mjs'

const { values } = parseArgs({ options: { seed: { type: 'string', default: '1' } } })
const FOLDER = fileURLToPath(new URL('../docs/pictures', import.meta.url))
/** A README must load quickly. */
const MAX_BYTES = 150_000

/** An invoice that arrived twice and was retried, with effects and a message. */
const TIMELINE = `select e.receipt_id as id from hookonce.effect e
  join hookonce.job j on j.shard = get_byte(uuid_send(e.receipt_id), 0) % 16 and j.receipt_id = e.receipt_id
    and j.subscriber = e.subscriber
  join hookonce.outbox o on o.receipt_id = e.receipt_id and o.state = 'published'
  join hookonce.duplicate d on d.shard = j.shard and d.receipt_id = e.receipt_id
  where e.mode = 'keyed' and j.state = 'processed'
  order by j.attempt desc, j.finished_at desc limit 1`

mkdirSync(FOLDER, { recursive: true })
await withSeededGateway({ receipts: 40_000, seed: Number(values.seed) }, async ({ pool, adminPort }) => {
  const { rows } = await pool.query(TIMELINE)
  const context = { viewport: { width: 1200, height: 720 }, colorScheme: 'light', reducedMotion: 'reduce' }
  await withPage({ adminPort, context }, async (page, base) => {
    const take = async (name, path, shown, prepare) => {
      await page.goto(`${base}${path}`)
      await page.getByText(shown).first().waitFor()
      await prepare()
      await page.getByRole('status', { name: 'Loading…' }).waitFor({ state: 'detached' })
      await page.evaluate('document.fonts.ready')
      const file = join(FOLDER, `${name}.png`)
      await page.screenshot({ path: file })
      const { size } = statSync(file)
      console.log(`${file}: ${size} bytes`)
      if (size > MAX_BYTES) throw new Error(`${file} is larger than ${MAX_BYTES} bytes: show less`)
    }
    await take('overview', '/', 'payout:po_1', async () => {
      await page.getByText('3 workers').waitFor()
      // High enough to include the chart.
      await page.setViewportSize({ width: 1280, height: 810 })
    })
    await page.setViewportSize(context.viewport)
    await take('event', `/events/${rows[0].id}`, 'receipt-mail:in_1', async () => {
      await page.getByRole('button', { name: 'Show the body' }).click()
      await page.getByText('customer_email').waitFor()
    })
  })
})
