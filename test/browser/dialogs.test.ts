import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { expectSoundView } from './support/every-view.ts'
import { inLargeLedger } from './support/large-ledger.ts'
import { isLoaded, openPage } from './support/open-page.ts'

/*
 * Every dialog, on a desktop and on a phone, in both themes. It opens, axe finds no fault, nothing
 * is wider than the window, and Escape closes it without a change.
 */

interface OpenedDialog {
  /** The name of its tests and screenshots. */
  readonly name: string
  readonly path: string | (() => Promise<string>)
  /** Opens the dialog, once the page shows its data. */
  readonly open: (page: Page) => Promise<unknown>
}

async function eventWithEffect(): Promise<string> {
  const [found] = await inLargeLedger<{ id: string }>(
    `select receipt_id as id from hookonce.effect where state = 'done' order by id limit 1`,
  )
  return `/events/${found?.id}`
}

const press =
  (name: string | RegExp) =>
  (page: Page): Promise<void> =>
    page.locator('main').getByRole('button', { name }).first().click()

/** Presses a key when this text is shown. */
const key =
  (keys: string, shown: string) =>
  async (page: Page): Promise<void> => {
    await page.locator('main').getByText(shown).first().waitFor()
    await page.keyboard.press(keys)
  }

async function replaySelected(page: Page): Promise<void> {
  await page.getByRole('row').nth(3).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await page.keyboard.press('r')
}

const DIALOGS: readonly OpenedDialog[] = [
  { name: 'replay of selected events', path: '/events', open: replaySelected },
  { name: 'replay of all that match', path: '/events?q=state:failed', open: press('Replay all that match') },
  { name: 'run waiting jobs now', path: '/events?q=state:retrying', open: press('Run waiting jobs now') },
  { name: 'replay of an event', path: eventWithEffect, open: press('Replay') },
  { name: 'pause of a source', path: '/sources', open: press('Pause stripe') },
  { name: 'test event', path: '/sources', open: press(/Test/) },
  { name: 'pause of a destination', path: '/destinations', open: press('Pause crm') },
  { name: 'probe of a circuit', path: '/', open: press('Probe now of crm') },
  { name: 'it happened', path: '/attention', open: key('d', 'It happened') },
  { name: 'it did not happen', path: '/attention', open: key('n', 'It happened') },
  { name: 'call it again', path: '/attention', open: key('s', 'It happened') },
  { name: 'give up its jobs', path: '/attention', open: key('a', 'It happened') },
  { name: 'publish all again', path: '/outbox?state=failed', open: press('Publish all failed again') },
  { name: 'new token', path: '/settings', open: press('Make a token') },
  { name: 'revoke a token', path: '/settings', open: press(/^Revoke/) },
  { name: 'acknowledge an alert', path: '/settings?tab=alerts', open: press('Acknowledge') },
  { name: 'palette', path: '/failures', open: key('Control+k', 'Failures') },
  { name: 'help', path: '/events', open: key('?', 'event') },
]

const VIEWS = DIALOGS.flatMap((dialog) =>
  (['desktop', 'mobile'] as const).map((width) => ({ ...dialog, width })),
)

test.each(VIEWS)('$name on a $width, in both themes', async ({ name, path, open, width }) => {
  const opened = await openPage(typeof path === 'string' ? path : await path(), { width })
  const { page } = opened
  const changes: string[] = []
  page.on('request', (request) => {
    if (request.method() !== 'GET' && !request.url().endsWith('/plan'))
      changes.push(`${request.method()} ${request.url()}`)
  })
  await isLoaded(page)
  await open(page)
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  await isLoaded(page)
  // A dialog that a table row opens must not inherit the alignment and the single line of the row.
  expect(
    await page.evaluate(`(() => {
      const dialog = document.querySelector('dialog[open]')
      const overflow = [...dialog.children].map((part) => part.scrollWidth - part.clientWidth)
      return { align: getComputedStyle(dialog).textAlign, overflow: Math.max(...overflow) }
    })()`),
  ).toEqual({ align: 'start', overflow: 0 })
  await expectSoundView(opened, `dialog-${name.replaceAll(' ', '-')}`)

  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(changes).toEqual([])
})

test('the menu of a phone opens over the page, in both themes', async () => {
  const opened = await openPage('/', { width: 'mobile' })
  const { page } = opened
  await page.getByRole('button', { name: 'Open the menu' }).click()
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Events' }).waitFor()
  await isLoaded(page)
  await expectSoundView(opened, 'menu')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Events' }).click()
  await expect.poll(() => new URL(page.url()).pathname).toBe('/events')
  await page.getByRole('button', { name: 'Open the menu' }).waitFor()
})
