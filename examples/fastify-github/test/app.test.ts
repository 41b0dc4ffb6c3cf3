import { type CrashPoint, testHooks } from 'hookonce/testing'
import 'hookonce/testing/vitest'
import pg from 'pg'
import { expect, test } from 'vitest'
import { createApp } from '../src/app.ts'
import { githubApi } from '../src/github-api.ts'
import { CREATE_TABLES } from '../src/tables.ts'
import { startFakeGitHub } from './fake-github.ts'

async function setup(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query(CREATE_TABLES)
  await client.end()
}

const start = (github: { readonly url: string }) =>
  testHooks(
    async (database) => {
      const { hooks, app } = await createApp({ database, githubSecret: 'secret', api: githubApi(github) })
      await app.ready()
      return { hooks, app: app.routing, close: () => app.close() }
    },
    { setup },
  )

const pull = (state: 'open' | 'closed') => ({
  repository: { full_name: 'octo-org/app' },
  sender: { login: 'ann' },
  pull_request: { id: 1, number: 7, state, merged_at: null },
})
const welcome = {
  path: '/repos/octo-org/app/issues/7/comments',
  body: 'Thank you, @ann! <!-- welcome 1 -->',
}

test('GitHub delivers five times at once: one row, one comment', async () => {
  await using github = await startFakeGitHub()
  await using t = await start(github)
  const delivered = await t.deliver('github', 'pull_request.opened', pull('open'), {
    times: 5,
    concurrently: true,
  })
  await t.settled()
  expect(delivered).toBeAcknowledged()
  expect(await t.rows('pull_requests')).toMatchObject([{ number: 7, state: 'open' }])
  expect(github.comments).toEqual([welcome])
})

// At the effect: the comment is made, and nothing of it recorded. The next process finds it on
// GitHub.
test.each<CrashPoint>(['write', 'commit', 'effect:welcome:1'])(
  'the process dies at %s: one row, one comment',
  async (point) => {
    await using github = await startFakeGitHub()
    await using t = await start(github)
    t.crashAt(point)
    await t.deliver('github', 'pull_request.opened', pull('open'))
    await t.settled()
    expect(await t.rows('pull_requests')).toHaveLength(1)
    expect(github.comments).toEqual([welcome])
    expect((await t.jobs()).map(({ state }) => state)).toEqual(['processed'])
  },
)

test('"closed" arrives before "opened": the pull request is closed', async () => {
  await using github = await startFakeGitHub()
  await using t = await start(github)
  const at = (time: string) => ({ occurredAt: new Date(`2026-01-01T${time}Z`) })
  await t.deliver('github', 'pull_request.closed', pull('closed'), at('11:00:00'))
  await t.deliver('github', 'pull_request.opened', pull('open'), at('10:00:00'))
  await t.settled()
  expect(await t.rows('pull_requests')).toMatchObject([{ state: 'closed' }])
})

test('a delivery with a wrong signature changes nothing', async () => {
  await using github = await startFakeGitHub()
  await using t = await start(github)
  const forged = await t.deliver('github', 'pull_request.opened', pull('open'), { tamper: 'signature' })
  expect(forged).toBeRefusedWith('SIGNATURE_MISMATCH')
  expect(await t.rows('pull_requests')).toEqual([])
})
