import { expect, test } from 'vitest'
import { GIGABYTE } from '../../operate/doctor/finding.ts'
import { diskFinding, spaceFinding } from './machine-checks.ts'

test.each([
  ['full', { free: 0, share: 0 }, 'fail'],
  ['almost full', { free: 0.4 * GIGABYTE, share: 0.5 }, 'fail'],
  ['short of space', { free: 4 * GIGABYTE, share: 0.05 }, 'warn'],
  ['small, and mostly free', { free: 4 * GIGABYTE, share: 0.5 }, 'ok'],
  ['large', { free: 100 * GIGABYTE, share: 0.05 }, 'ok'],
] as const)('a disk that is %s: %o is %s', (_name, space, level) => {
  const finding = spaceFinding(space, 'the space')
  expect(finding).toMatchObject({ check: 'disk', level, seen: 'the space' })
  if (level !== 'ok') expect(finding.advice).toContain('free some space')
})

test('the free space of the folder is read', async () => {
  const finding = await diskFinding({ dataDir: import.meta.dirname, ledgerBytes: GIGABYTE })
  expect(finding.seen).toMatch(/^the ledger takes 1 GB; .+ \(\d+ %\) are free under \//)
})
