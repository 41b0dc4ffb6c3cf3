import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { accessibilityFaults } from './accessibility.ts'
import { isLoaded, type OpenedPage, openPage } from './open-page.ts'
import { screenshot } from './screenshot.ts'

export interface ViewedPage {
  /** The name of its tests and screenshots. */
  readonly name: string
  readonly path: () => Promise<string>
}

/**
 * Tests a page over the large ledger: `shows` resolves, and the view is sound. On a desktop and on
 * a phone, in both themes.
 */
export function testEveryView(page: string | ViewedPage, shows: (page: Page) => Promise<unknown>): void {
  const { name, path } =
    typeof page === 'string' ? { name: page.slice(1) || 'overview', path: async () => page } : page
  const file = name.replaceAll(/\W+/g, '-')
  test.each(['desktop', 'mobile'] as const)(`${name} on a %s, in both themes`, async (width) => {
    const light = await openPage(await path(), { width, theme: 'light' })
    await shows(light.page)
    await isLoaded(light.page)
    await expectSoundView(light, file)
  })
}

/** Axe finds no fault, and nothing is wider than the window. The view is in the light theme. */
export async function expectSoundView(light: OpenedPage, file: string): Promise<void> {
  await screenshot(light, file)
  expect(await accessibilityFaults(light.page)).toEqual([])
  const overflow = await light.page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
  expect(overflow).toBe(0)

  // The page follows the system's theme while it is open. Themes differ only in colours.
  await light.page.emulateMedia({ colorScheme: 'dark' })
  await screenshot({ ...light, theme: 'dark' }, file)
  expect(await accessibilityFaults(light.page, ['color-contrast'])).toEqual([])
}
