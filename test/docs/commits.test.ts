import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { NEEDS_GIT_HISTORY } from '../support/declared-skips.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Longer subjects are cut by many tools. */
const MAX_SUBJECT_CHARS = 60
/** The last commit before this test. Some older subjects are longer. */
const SINCE = '7306d0564'

/**
 * The subjects of the commits of this branch, without merges. Undefined if git fails, is not
 * installed, or does not have these commits.
 */
function subjects(): string[] | undefined {
  const args = ['log', '--no-merges', '--format=%s', `${SINCE}..HEAD`]
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  return status === 0 ? stdout.split('\n').filter((line) => line !== '') : undefined
}

test('the subject of each commit is short, and has no prefix', (context) => {
  const found = subjects()
  if (found === undefined) return context.skip(NEEDS_GIT_HISTORY)
  const faulty = found.filter(
    (subject) =>
      subject.length > MAX_SUBJECT_CHARS || /^(feat|fix|docs|chore|test|refactor)(\(.*\))?!?:/.test(subject),
  )
  expect(faulty).toEqual([])
})
