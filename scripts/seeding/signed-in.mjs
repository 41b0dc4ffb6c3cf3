// A page of the dashboard over a seeded ledger, signed in.
import { chromium } from 'playwright-core'
import { chromiumOptions } from '../chromium.mjs'
import { ADMIN_TOKEN } from './gateway.mjs'

/**
 * Runs `work` with the page, and closes the browser after it. `context` is passed to Playwright.
 */
export async function withPage({ adminPort, context }, work) {
  const browser = await chromium.launch(chromiumOptions())
  try {
    const profile = await browser.newContext(context)
    const base = `http://127.0.0.1:${adminPort}`
    const answer = await profile.request.post(`${base}/api/v1/session`, { data: { token: ADMIN_TOKEN } })
    if (!answer.ok()) throw new Error(`the gateway refused the token: ${await answer.text()}`)
    await work(await profile.newPage(), base)
  } finally {
    await browser.close()
  }
}
