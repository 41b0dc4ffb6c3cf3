import { expect, test } from 'vitest'
import { seededLedger } from '../support/seeded-ledger.ts'
import { withUnknownEffects } from '../support/unknown-effects.ts'
import { testEveryView } from './support/every-view.ts'
import { smallDashboard } from './support/small-dashboard.ts'

/* The page of effects whose outcome is unknown: the facts, and the four decisions. */

testEveryView('/attention', (page) => page.getByRole('button', { name: /It did not happen/ }).waitFor())

test('each action shows its consequence, requires a reason, and decides', async () => {
  const keys = ['mail:1', 'mail:2', 'mail:3', 'mail/4 ü']
  const { db, jobIs } = await withUnknownEffects(keys)
  const { page } = await (await smallDashboard(db)).open('/attention')
  const dialog = page.getByRole('dialog')

  // The oldest effect is open, with its facts.
  const known = page.getByRole('cell').filter({ hasText: 'What happened:' })
  for (const fact of ['down-mail:1', 'atMostOnce', 'attempt 3', 'evt_0', 'sha256 0aff', 'the reply was lost'])
    await known.getByText(fact).first().waitFor()

  await page.getByRole('button', { name: /^It happened/ }).click()
  await dialog.getByText('1 waiting job continues with its result').waitFor()
  await dialog.getByLabel('Why?').fill('the bank shows it')
  const confirm = dialog.getByRole('button', { name: 'It happened' })
  await dialog.getByLabel('Its result, as JSON').fill('{"amount":')
  await dialog.getByText('This is not JSON').waitFor()
  expect(await confirm.isDisabled()).toBe(true)
  await dialog.getByLabel('Its result, as JSON').fill('{"amount":9007199254740993}')
  await confirm.click()
  await page.getByText('mail:1 is recorded as done. 1 job continues.').waitFor()

  const verbs = [
    { key: 'mail:2', press: 'n', says: 'It is called again, with a new key', verb: 'It did not happen' },
    { key: 'mail:3', press: 's', says: 'with the key of the first call', verb: 'Call it with the same key' },
    { key: 'mail/4 ü', press: 'a', says: '1 waiting job fails', verb: 'Give up its jobs' },
  ]
  for (const { key, press, says, verb } of verbs) {
    await page.getByRole('button', { name: key, exact: true, expanded: true }).waitFor()
    await page.keyboard.press(press)
    await dialog.getByText(says).waitFor()
    await dialog.getByLabel('Why?').fill(`decided on ${key}`)
    await dialog.getByRole('button', { name: verb }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  // An abandoned effect stays listed, without a job.
  await page.getByText('None: they were abandoned').waitFor()

  const effects = await db.rows(
    'select key, state::text, result::text from hookonce.effect order by started_at',
  )
  expect(effects.map((one) => Object.values(one))).toEqual([
    ['mail:1', 'done', '{"amount": 9007199254740993}'],
    ['mail:2', 'failed', null],
    ['mail/4 ü', 'unknown', null],
    ['mail:3', 'started', null],
  ])
  const states = await Promise.all(keys.map(async (_, n) => (await jobIs(n, 'state')).state))
  expect(states).toEqual(['received', 'received', 'received', 'failed'])
  expect(await db.rows('select action, why from hookonce.audit order by id')).toEqual([
    { action: 'confirm-done', why: 'the bank shows it' },
    { action: 'confirm-not-done', why: 'decided on mail:2' },
    { action: 'retry-same-key', why: 'decided on mail:3' },
    { action: 'abandon', why: 'decided on mail/4 ü' },
  ])
})

test('a viewer sees the facts, and no action', async () => {
  const { db } = await withUnknownEffects(['mail:1'])
  const { open, token } = await smallDashboard(db)
  const { page } = await open('/attention', { token: await token({ name: 'eve', role: 'viewer' }) })
  await page.getByText('down-mail:1').waitFor()
  await page.keyboard.press('a')
  expect(await page.getByRole('list', { name: 'Decisions' }).count()).toBe(0)
  expect(await page.getByRole('dialog').count()).toBe(0)
})

test('a decision that another operator has made is explained, and changes nothing', async () => {
  const { db } = await withUnknownEffects(['mail:1'])
  const { page, faults } = await (await smallDashboard(db)).open('/attention')
  faults.expect(/^409: POST .*\/attention\/confirm-not-done/)
  await page.getByRole('button', { name: /^It did not happen/ }).click()
  await db.rows(`update hookonce.effect set state = 'done'`)
  await db.rows('delete from hookonce.attention')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Why?').fill('not there')
  await dialog.getByRole('button', { name: 'It did not happen' }).click()
  await dialog.getByRole('alert').getByText('is done').waitFor()
  expect(await db.rows('select state::text from hookonce.effect')).toEqual([{ state: 'done' }])
})

test('without waiting effects, the page explains when there would be one', async () => {
  const { db } = await seededLedger()
  const { page } = await (await smallDashboard(db)).open('/attention')
  await page.getByText('Nothing waits for you').waitFor()
  await page.getByText('npx hookonce attention list').waitFor()
})
