import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { hookonce, type Logger } from '../../../src/index.ts'
import { cli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { receiving, silent } from '../../support/receiver.ts'
import { testSource } from '../../support/source.ts'
import { until } from '../../support/until.ts'

/*
 * The most common failures of a first start: each error is one line, with the fault and the advice.
 */

const nothing = (): undefined => undefined

function changed(url: string, change: (url: URL) => void): string {
  const other = new URL(url)
  change(other)
  return String(other)
}

/** A role that may only connect. */
async function poorRole(url: string): Promise<string> {
  const admin = new pg.Pool({ connectionString: url, max: 1 }).on('error', nothing)
  const name = `poor_${process.pid}_${Date.now()}`
  await admin.query(`drop schema hookonce cascade`)
  await admin.query(`create role ${name} login password 'poor'`)
  onTestFinished(async () => {
    await admin.query(`drop role ${name}`)
    await admin.end()
  })
  return changed(url, (other) => {
    other.username = name
    other.password = 'poor'
  })
}

interface Failure {
  readonly name: string
  readonly url: () => Promise<string>
  readonly code: string
  readonly says: readonly string[]
}

const failures: readonly Failure[] = [
  {
    name: 'a server that is not there',
    url: async () => 'postgres://me:s3cret@127.0.0.1:1/none',
    code: 'DATABASE_UNREACHABLE',
    says: ['127.0.0.1:1', 'ECONNREFUSED', 'start the server'],
  },
  {
    name: 'a host that is not there',
    url: async () => 'postgres://me:s3cret@no-such-host.invalid/none',
    code: 'DATABASE_UNREACHABLE',
    says: ['no-such-host.invalid:5432', 'correct DATABASE_URL'],
  },
  {
    name: 'a wrong password',
    url: async () =>
      changed((await freshDatabase()).url, (url) => {
        url.password = 's3cret'
      }),
    code: 'DATABASE_REFUSED',
    says: ['password authentication failed', 'correct the user and the password'],
  },
  {
    name: 'an unknown database',
    url: async () => changed(inject('serverUrl'), (url) => (url.pathname = '/no_such_database')),
    code: 'DATABASE_REFUSED',
    says: ['"no_such_database" does not exist', 'create it'],
  },
  {
    name: 'a role that may not create',
    url: async () => poorRole((await freshDatabase()).url),
    code: 'DATABASE_REFUSED',
    says: ['"poor_', 'permission denied', 'hookonce migrate', "migrate: 'off'"],
  },
]

describe.each(failures)('$name', ({ url, code, says }) => {
  test('is named by start(), and no password with it', async () => {
    const hooks = hookonce({ database: await url(), sources: { test: testSource() }, logger: silent })
    onTestFinished(() => hooks.stop())
    const error = await hooks
      .on('test', '*', nothing)
      .start()
      .then(nothing, (thrown) => thrown)
    expect(error).toMatchObject({ code })
    for (const part of says) expect(error.message).toContain(part)
    expect(error.message).not.toMatch(/s3cret|\n/)
  })

  test('is named by the command line in one line', async () => {
    const { code: exit, stderr } = await cli(['migrate'], { DATABASE_URL: await url() })
    expect([exit, stderr.trim().split('\n').length]).toEqual([1, 1])
    for (const part of says) expect(stderr).toContain(part)
    expect(stderr).not.toContain('s3cret')
  })
})

test('a URL without its password is reported by the command line, which ends at once', async () => {
  const url = changed(inject('serverUrl'), (other) => {
    other.password = ''
  })
  const { code, stderr } = await cli(['migrate'], { DATABASE_URL: url })
  expect([code, stderr.trim().split('\n')]).toEqual([1, [expect.stringContaining('requires a password')]])
})

test.each(['dev', 'serve'])(
  '%s in a folder that cannot be written reports it in one line',
  async (command) => {
    const dir = temporaryDirectory()
    const file = join(dir, 'file')
    writeFileSync(file, '')
    const config = join(dir, 'hookonce.json')
    const source = { provider: 'stripe', secret: 'env:SECRET' }
    const app = { url: 'http://127.0.0.1:1', secret: 'env:SECRET', allowPrivate: ['127.0.0.1'] }
    writeFileSync(config, JSON.stringify({ sources: { stripe: source }, destinations: { app } }))
    const args = [command, '--config', config, '--port', '0', '--dir', join(file, 'x')]
    const { code, stderr } = await cli(args, { SECRET: `whsec_${'a'.repeat(40)}` })
    expect([code, stderr.trim().split('\n')]).toEqual([
      1,
      [expect.stringMatching(/^DIR_UNUSABLE.*ENOTDIR.*--dir/)],
    ])
  },
)

test.each([[{}], [undefined]])('hookonce(%o) without sources reports what to pass', (given) => {
  expect(() => Reflect.apply(hookonce, undefined, [given])).toThrow(
    'sources: pass at least one source, such as { stripe: stripe({ secret }) }',
  )
})

describe('a process that only receives', () => {
  async function delivered(works: 'here' | 'elsewhere' | 'nowhere'): Promise<string[]> {
    const db = await freshDatabase()
    const warnings: string[] = []
    const logger: Logger = {
      ...silent,
      warn: ({ detail }, message) => warnings.push(`${message}: ${detail}`),
    }
    const options = { leaseMs: 500, pollMs: 50, logger }
    const { hooks, send } = receiving(db, { options })
    if (works === 'here') await hooks.start()
    if (works === 'elsewhere') await receiving(db, { options: { ...options, logger: silent } }).hooks.start()
    const looked = watched(hooks)
    for (const id of ['evt_1', 'evt_2']) expect((await send({ id, type: 'a' })).status).toBe(202)
    await until('it looks for a worker', () => works === 'here' || warnings.length > 0 || looked())
    return warnings
  }

  /** Whether a query that was sent after the end of the lease has been answered. */
  function watched(hooks: { ready(): Promise<boolean> }): () => Promise<boolean> {
    const since = performance.now()
    return async () => performance.now() - since > 1_500 && hooks.ready()
  }

  test('and has no worker reports once that start() is missing', async () => {
    expect(await delivered('nowhere')).toEqual([expect.stringMatching(/no process works.*hooks\.start\(\)/)])
  })

  test.each(['here', 'elsewhere'] as const)('reports nothing where a worker runs %s', async (works) => {
    expect(await delivered(works)).toEqual([])
  })
})
