import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { patternOf } from '../../scripts/first-hour/compare.mjs'
import { stepsOf } from '../../scripts/first-hour/story.mjs'

/* The parts of `npm run first-hour`. The whole run takes minutes. */

const root = join(import.meta.dirname, '..', '..')
const steps = ['README.md', 'docs/start.md'].flatMap((page) =>
  stepsOf(page, readFileSync(join(root, page), 'utf8')),
)

test('the pages lead from the clone to the proof', () => {
  expect(steps.map(({ step }) => step)).toEqual([
    'run dev',
    'dev prints',
    'send twice',
    'dev prints',
    'open',
    'try',
    'stop dev',
    'run stripe',
    'responses',
    'install',
    'save invoices.mjs',
    'run app',
    'prints',
    'stop app',
    'save crash.mjs',
    'run app',
    'run app',
    'app prints',
    'run',
    'prints',
    'stop app',
    'run',
    'prints',
  ])
  expect(steps.filter(({ text }) => text.trim() === '')).toEqual([])
  expect(steps[0]?.text).toBe('npm ci\nnpx hookonce dev\n')
})

test.each([
  ['202  invoice.paid  evt_…', '202  invoice.paid  evt_0aB1', true],
  ['20:10:59  202 recorded', '04:45:21  202 recorded', true],
  ['20:10:59  202 recorded', '04:45:21  200 duplicate', false],
  ['evt_b5b2d575  processed', 'evt_4fe011aa  processed', true],
  ['evt_1  processed', 'evt_2  processed', false],
  ['http://127.0.0.1:4401/', 'http://127.0.0.1:4402/', false],
  ['one\n…\nfour', 'zero\none\ntwo\nthree\nfour\nfive', true],
  ['one\ntwo', 'one\nthree\ntwo', false],
  ['x: d7f2…3754', 'x: 0aa01bb02cc03', true],
  ['held  (all) of it?', 'held      (all) of it?', true],
])('%j for %j: %s', (documented, real, isRight) => {
  expect(patternOf(documented).test(real)).toBe(isRight)
})
