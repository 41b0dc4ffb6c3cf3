import { expect, test } from 'vitest'
import { isLoaded, openPage } from './support/open-page.ts'

const path = (url: string): string => new URL(url).pathname

test('keys move through the list, select, open and search', async () => {
  const { page } = await openPage('/events')
  const grid = page.getByRole('grid', { name: 'Events' })
  const rows = grid.getByRole('rowgroup').getByRole('row')
  await rows.nth(5).waitFor()
  const active = grid.locator('.row.active')

  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  const id = await rows.nth(1).getAttribute('id')
  await expect.poll(() => active.getAttribute('id')).toBe(id)
  expect(await grid.getAttribute('aria-activedescendant')).toBe(id)

  await page.keyboard.press('x')
  await page.keyboard.press('Shift+J')
  await page.keyboard.press('Shift+J')
  await expect.poll(() => grid.locator('[aria-selected=true]').count()).toBe(3)
  await page.keyboard.press('Escape')
  await expect.poll(() => grid.locator('[aria-selected=true]').count()).toBe(0)

  const opened = (await active.getAttribute('id'))?.replace('row-', '')
  await page.keyboard.press('Enter')
  await expect.poll(() => path(page.url())).toBe(`/events/${opened}`)
  // A new page takes the focus.
  await page.getByRole('heading', { level: 1 }).waitFor()
  await isLoaded(page)

  await page.keyboard.press('/')
  await page.keyboard.type('source:github')
  await page.keyboard.press('Enter')
  await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('source:github')
  await expect.poll(() => rows.first().textContent()).toContain('github')
})

test('a new page does not take the focus from a search that the user has begun', async () => {
  const { page } = await openPage('/events')
  await page.getByRole('grid', { name: 'Events' }).waitFor()
  const field = page.getByRole('combobox', { name: 'Search events' })
  // The key is pressed before the page has rendered, as by a quick person or on a slow machine.
  await page.evaluate(`document.querySelector('#rail a[href$="/failures"]').click()
    document.querySelector('search input').focus()`)
  await page.getByRole('heading', { level: 1, name: 'Failures' }).waitFor()
  await isLoaded(page)
  await page.keyboard.type('in_12')
  expect(await field.inputValue()).toBe('in_12')

  // Without a focused field, the page has the focus: its keys work at once, even after the palette
  // was opened from the search.
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').locator('input:focus').waitFor()
  await page.keyboard.type('attention')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Attention' }).waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main')
})

test('? lists the keys of the page', async () => {
  const { page } = await openPage('/events')
  await page.getByRole('grid', { name: 'Events' }).waitFor()
  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keys' })
  await help.getByText('Next row', { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
})

test('Ctrl-K finds pages and searches', async () => {
  const { page } = await openPage('/events')
  const palette = page.getByRole('dialog', { name: 'Pages and actions' })
  await page.getByRole('grid', { name: 'Events' }).waitFor()

  await page.keyboard.press('Control+k')
  await palette.locator('input:focus').waitFor()
  await page.keyboard.type('overview')
  await page.keyboard.press('Enter')
  await expect.poll(() => path(page.url())).toBe('/')

  await page.keyboard.press('Control+k')
  await palette.locator('input:focus').waitFor()
  await page.keyboard.type('in_1')
  await palette.getByRole('option', { name: 'Search events for' }).click()
  await expect.poll(() => page.url()).toMatch(/\/events\?q=in_1$/)
  await palette.waitFor({ state: 'detached' })
})

test('g and a letter open a page', async () => {
  const { page } = await openPage('/events')
  await page.getByRole('grid', { name: 'Events' }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('o')
  await expect.poll(() => path(page.url())).toBe('/')
})

test('a chosen theme is kept', async () => {
  const { page } = await openPage('/', { theme: 'light' })
  const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  const light = await background()
  await page.getByRole('group', { name: 'Theme' }).getByRole('button', { name: 'Dark' }).click()
  await expect.poll(background).not.toBe(light)
  const dark = await background()
  await page.reload()
  await page.getByRole('heading', { name: 'Traffic' }).waitFor()
  expect(await background()).toBe(dark)
})

test.each([
  ['/sources', '.table[aria-label=Sources] .row[tabindex]'],
  ['/destinations', '.table[aria-label=Destinations] .row[tabindex]'],
  ['/settings', '.table[aria-label=Tokens] .row[tabindex]'],
  ['/', '.table[aria-label=Sources] .row[tabindex]'],
])('keys move through the tables of %s', async (shown, selector) => {
  const { page } = await openPage(shown)
  const rows = page.locator(selector)
  await rows.nth(1).waitFor()
  const focused = (): Promise<boolean[]> =>
    rows.evaluateAll((all) => all.slice(0, 2).map((row) => row.contains(row.ownerDocument.activeElement)))
  await page.keyboard.press('j')
  expect(await focused()).toEqual([true, false])
  await page.keyboard.press('j')
  expect(await focused()).toEqual([false, true])
  await page.keyboard.press('k')
  expect(await focused()).toEqual([true, false])
})

test('enter follows the link of a row', async () => {
  const { page } = await openPage('/sources')
  await page.getByRole('table', { name: 'Sources' }).getByRole('row').nth(1).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.url()).toMatch(/\/events\?q=source%3A\w+$/)
})

test('u returns to the list, also from a shared link', async () => {
  const { page, go } = await openPage('/events?q=source:github')
  await page.getByRole('row').nth(2).getByRole('link').click()
  await page.getByRole('region', { name: 'Timeline' }).waitFor()
  const shared = path(page.url())
  await page.keyboard.press('u')
  await expect.poll(() => page.url()).toMatch(/\/events\?q=source:github$/)

  await go(shared)
  await page.getByRole('region', { name: 'Timeline' }).waitFor()
  await page.keyboard.press('u')
  await expect.poll(() => page.url()).toMatch(/\/events$/)
})

test.each([
  ['e', '/events'],
  ['f', '/failures'],
  ['a', '/attention'],
  ['r', '/rejections'],
  ['x', '/outbox'],
  ['s', '/sources'],
  ['d', '/destinations'],
  ['c', '/captured'],
  [',', '/settings'],
])('g and %s open %s', async (key, opened) => {
  const { page } = await openPage('/')
  await page.getByRole('heading', { name: 'Needs you' }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press(key)
  await expect.poll(() => path(page.url())).toBe(opened)
})

test('the palette lists actions that have no keys', async () => {
  const { page } = await openPage('/events?q=state:failed')
  await page.getByRole('grid', { name: 'Events' }).waitFor()
  await page.keyboard.press('Control+k')
  const palette = page.getByRole('dialog', { name: 'Pages and actions' })
  await palette.locator('input:focus').waitFor()
  await page.keyboard.type('replay all')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Replay all that match' }).waitFor()
})
