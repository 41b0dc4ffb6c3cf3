import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, expect, inject, onTestFinished } from 'vitest'
import { ADMIN_TOKEN } from '../../../scripts/seeding/gateway.mjs'
import { type PageFaults, watchFaults } from './page-faults.ts'

const WIDTHS = {
  desktop: { width: 1280, height: 800 },
  mobile: { width: 390, height: 844 },
} as const

export type Width = keyof typeof WIDTHS
export type Theme = 'light' | 'dark'

export interface View {
  readonly width?: Width
  readonly theme?: Theme
  /**
   * The address of the dashboard, with its mount path. Default: the dashboard over the large
   * ledger.
   */
  readonly dashboard?: string
  /** `null`: not signed in. Default: the admin token. */
  readonly token?: string | null
}

export interface OpenedPage {
  readonly page: Page
  readonly faults: PageFaults
  readonly width: Width
  readonly theme: Theme
  /** The address of the dashboard. */
  readonly base: string
  /** Opens another path of the dashboard. */
  go(path: string): Promise<void>
}

let connected: Promise<Browser> | undefined

function browser(): Promise<Browser> {
  connected ??= chromium.connect(inject('browserUrl'))
  return connected
}

/** Imported once per file: closes the connection after the file's tests. */
afterAll(async () => {
  const open = await connected
  connected = undefined
  await open?.close()
})

/**
 * Opens a path of the dashboard in its own browser profile. The test fails on every fault of the
 * page.
 */
export async function openPage(path: string, view: View = {}): Promise<OpenedPage> {
  const { width = 'desktop', theme = 'light', token = ADMIN_TOKEN } = view
  const base = view.dashboard ?? inject('largeDashboard')
  const context = await (await browser()).newContext({
    viewport: WIDTHS[width],
    colorScheme: theme,
    deviceScaleFactor: 1,
    hasTouch: width === 'mobile',
    reducedMotion: 'reduce',
    timezoneId: 'Europe/Amsterdam',
    locale: 'en-GB',
  })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  context.setDefaultTimeout(20_000)
  if (token !== null) {
    const answer = await context.request.post(`${base}/api/v1/session`, { data: { token } })
    expect(answer.status(), await answer.text()).toBe(200)
  }
  const page = await context.newPage()
  const faults = watchFaults(page, new URL(base).origin)
  onTestFinished(async () => {
    await context.close()
    expect(faults.found).toEqual([])
  })
  const go = async (to: string): Promise<void> => void (await page.goto(`${base}${to}`))
  await go(path)
  return { page, faults, width, theme, base, go }
}

/** Waits until no part of the page moves. */
export async function isLoaded(page: Page): Promise<void> {
  await expect.poll(() => page.getByRole('status', { name: 'Loading…' }).count(), { timeout: 20_000 }).toBe(0)
}
