// Records the demo of the dashboard into the built site: node site/demo/record.mjs
// It needs `npm run build`, and Chromium. Nothing of it is committed.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withSeededGateway } from '../../scripts/seeding/seeded-gateway.mjs'
import { withPage } from '../../scripts/seeding/signed-in.mjs'
import { recordDashboard, writeDemo } from './recording.mjs'

const site = process.env.SITE_OUT ?? join(dirname(fileURLToPath(import.meta.url)), '../.vitepress/dist')
const base = `${process.env.SITE_BASE ?? '/'}demo/`
const receipts = Number(process.env.HOOKONCE_RECEIPTS ?? 5_000)

await withSeededGateway({ receipts, seed: 1 }, ({ adminPort }) =>
  withPage({ adminPort, context: { viewport: { width: 1280, height: 900 } } }, async (page, dashboard) => {
    const answers = await recordDashboard(page, { dashboard, events: 100 })
    writeDemo(join(site, 'demo'), { base, answers })
    console.log(`${join(site, 'demo')}: ${Object.keys(answers).length} answers of the admin API`)
  }),
)
