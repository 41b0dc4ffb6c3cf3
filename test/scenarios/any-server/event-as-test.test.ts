import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, inject, onTestFinished, test } from 'vitest'
import { github, stripe } from '../../../src/sources/index.ts'
import type { Sample } from '../../../src/sources/sign.ts'
import { adminApi } from '../../support/admin-api.ts'
import { CLI_ENV, cli, temporaryDirectory } from '../../support/cli.ts'
import { hooks, SECRET } from '../../support/copied-hooks.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'

/*
 * An event, copied as a test: the printed test runs in a project, and fails if the project is
 * wrong.
 */

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Hostile content of a body: it must not become code, and no byte may change. */
const HOSTILE = '`$' + '{process.exit(7)}` \\u0041 \u202e \u2028 */ it\'s "7"'
const INVOICE = `{
  "id": "evt_1",
  "type": "invoice.paid",
  "account": 9007199254740993,
  "data": { "object": { "id": "in_1", "name": ${JSON.stringify(HOSTILE)} } }
}`
const PUSH = '{"repository":{"full_name":"a/b"},"after":"c0ffee"}'

async function started(db: TestDatabase) {
  const running = hooks(db.url)
  onTestFinished(() => running.stop({ drainMs: 0 }))
  const sources = { stripe: stripe({ secret: SECRET }), github: github({ secret: SECRET }) }
  const deliver = async (source: keyof typeof sources, sample: Sample, times: number): Promise<string> => {
    let receipt = ''
    for (let sent = 0; sent < times; sent += 1) {
      const { url, ...request } = sources[source].deliver({ ...sample, url: `/webhooks/${source}` })
      const answer = await running.fetch(new Request(`http://app.test${url}`, request))
      expect(answer.status).toBe(sent === 0 ? 202 : 200)
      receipt = String(((await answer.json()) as { receipt: string }).receipt)
    }
    return receipt
  }
  await running.start()
  return { deliver }
}

/** Repeats are counted after their answer. */
function recorded(db: TestDatabase, expected: { jobs: number; repeats: number }): Promise<unknown> {
  return until(`${expected.jobs} jobs and ${expected.repeats} repeats are recorded`, async () => {
    const jobs = await db.number(`select count(*) from hookonce.job where state in ('processed', 'failed')`)
    const repeats = await db.number('select coalesce(sum(count), 0) from hookonce.duplicate')
    return jobs === expected.jobs && repeats === expected.repeats
  })
}

/** A folder with hookonce and vitest installed, and the hooks. */
function project(): string {
  const dir = temporaryDirectory()
  mkdirSync(join(dir, 'node_modules'))
  symlinkSync(root, join(dir, 'node_modules/hookonce'))
  symlinkSync(join(root, 'node_modules/vitest'), join(dir, 'node_modules/vitest'))
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  copyFileSync(join(root, 'test/support/copied-hooks.ts'), join(dir, 'hooks.ts'))
  return dir
}

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly failureMessages: string[] }[]
  }[]
}

async function runTests(dir: string, isChanged: boolean): Promise<string[]> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const outer = Object.entries(CLI_ENV).filter(([name]) => !name.startsWith('VITEST'))
  const child = spawn(process.execPath, [vitest, 'run', '--root', dir, '--reporter', 'json'], {
    cwd: dir,
    env: {
      ...Object.fromEntries(outer),
      HOOKONCE_TEST_DATABASE_URL: inject('serverUrl'),
      COPIED_HOOKS_CHANGED: isChanged ? 'yes' : 'no',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  await once(child, 'close')
  const { testResults } = JSON.parse(printed.slice(printed.indexOf('{"'))) as Report
  return testResults.flatMap(({ assertionResults }) =>
    assertionResults.map(({ status, failureMessages }) => failureMessages[0]?.split('\n', 1)[0] ?? status),
  )
}

test('hookonce show --as-test prints tests that run in a project, and that a changed handler fails', async () => {
  const db = await freshDatabase()
  const { deliver } = await started(db)
  const invoice = await deliver('stripe', { body: INVOICE }, 3)
  const push = { 'x-github-event': 'push', 'x-github-hook-id': '42', 'user-agent': 'GitHub-Hookshot/1' }
  await deliver('github', { body: PUSH, id: 'd-1', headers: push }, 1)
  await recorded(db, { jobs: 3, repeats: 2 })

  const dir = project()
  const copied = async (name: string): Promise<string> => {
    const { code, stdout, stderr } = await cli(['show', name, '--as-test'], { DATABASE_URL: db.url })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    writeFileSync(join(dir, `${name}.test.ts`), stdout)
    return stdout
  }
  const text = await copied(invoice)
  expect(text).toContain('times: 3')
  expect(text).toContain('"account": 9007199254740993')
  expect(text).toContain('toHaveHappenedOnce()')
  expect(text).toContain("'invoice.*': 'failed',")
  expect(text).toContain(
    "// It failed: gave up after 2 attempts: Error: no such customer: '*/ process.exit(7) //. Once fixed: 'processed'.",
  )
  // No text of a body controls a terminal or changes the order of the displayed text.
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e-\u200f\u2028-\u202e\u2066-\u2069]/)
  const pushed = await copied('d-1')
  expect(pushed).toContain(`'x-github-hook-id': '42',`)
  expect(pushed).not.toMatch(/signature|hookshot/i)

  expect(await runTests(dir, false)).toEqual(['passed', 'passed'])
  expect((await runTests(dir, true)).toSorted()).toEqual([
    expect.stringContaining('to deeply equal'),
    expect.stringContaining('to have happened once'),
  ])
}, 180_000)

test('the API returns the same text to callers that may read bodies, and the view is in the audit', async () => {
  const db = await freshDatabase()
  const { deliver } = await started(db)
  const id = await deliver('stripe', { body: INVOICE }, 1)
  await recorded(db, { jobs: 2, repeats: 0 })
  const { get, token } = await adminApi({ db, args: ['--receive-only'] })
  const reader = await token({ name: 'reader', role: 'viewer', bodies: true })
  const blind = await token({ name: 'blind', role: 'admin', bodies: false })
  const path = `/events/${id}/test?hooks=./app/hooks.ts`

  expect(await get(path, { token: blind })).toMatchObject({ status: 403 })
  const answer = await get(path, { token: reader })
  expect(answer).toMatchObject({ status: 200 })
  const shown = await cli(['show', id, '--as-test', '--hooks', './app/hooks.ts', '--json'], {
    DATABASE_URL: db.url,
  })
  expect(shown.json()).toEqual({ id, test: answer.text })
  expect(await db.rows(`select actor, action, why from hookonce.audit where subject = $1`, [id])).toEqual([
    {
      actor: expect.stringContaining('reader'),
      action: 'read-body',
      why: 'read the body and headers as a test',
    },
  ])
})

test('a deleted or redacted body is reported instead', async () => {
  const db = await freshDatabase()
  const { deliver } = await started(db)
  const id = await deliver('stripe', { body: INVOICE }, 1)
  await recorded(db, { jobs: 2, repeats: 0 })
  const look = () => cli(['show', id, '--as-test'], { DATABASE_URL: db.url })

  const stored = async (body: string | null): Promise<void> =>
    void (await db.rows('update hookonce.receipt set body = $1, body_sha256 = sha256(body)', [
      body === null ? null : Buffer.from(body),
    ]))
  await stored(INVOICE.replace('"in_1"', '"[redacted]"'))
  const partly = await look()
  expect(partly.stdout).toContain("// Values were redacted before it was stored. They are '[redacted]'")
  await stored('"[redacted]"')
  expect((await look()).stderr).toContain(`BODY_REDACTED: the whole body of receipt ${id} was redacted`)
  await stored(null)
  expect((await look()).stderr).toContain(`BODY_EXPIRED: the body of receipt ${id} is past its retention`)
  const misused = await cli(['show', id, '--hooks', './x.ts'], { DATABASE_URL: db.url })
  expect(misused.stderr).toContain('--hooks belongs to --as-test')
})
