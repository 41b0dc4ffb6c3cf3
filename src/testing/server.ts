import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { checkedUrl } from '../ledger/ledger.ts'
import { openTestDatabases, type TestDatabases } from '../ledger/testing/databases.ts'
import { HookonceError } from '../model/errors.ts'

/** `DATABASE_URL` is not used: a test must never create databases on a production server. */
const VARIABLE = 'HOOKONCE_TEST_DATABASE_URL'

const EMBEDDED = ''
const opened = new Map<string, Promise<TestDatabases>>()

/** The test databases of this process: on the given server, or on an embedded one. */
export function testDatabases(server: string | undefined): Promise<TestDatabases> {
  const url = server ?? process.env[VARIABLE] ?? EMBEDDED
  const known = opened.get(url)
  if (known) return known
  const opening = open(url).catch((error) => {
    opened.delete(url)
    throw error
  })
  opened.set(url, opening)
  return opening
}

async function open(url: string): Promise<TestDatabases> {
  return openTestDatabases(url === EMBEDDED ? await keptServer() : checkedUrl(url))
}

/** One folder for all test processes of a user, so that they share the server and its templates. */
function serverDir(): string {
  return join(tmpdir(), `hookonce-testing-${userInfo().uid}`)
}

async function keptServer(): Promise<string> {
  const keeper = spawn(
    process.execPath,
    [fileURLToPath(new URL('./keeper.js', import.meta.url)), serverDir()],
    { stdio: ['pipe', 'pipe', 'pipe'], detached: true },
  )
  let complaint = ''
  keeper.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-4_000)
  })
  const line = await new Promise<string | undefined>((resolve, reject) => {
    keeper.once('error', reject)
    createInterface(keeper.stdout)
      .once('line', resolve)
      .once('close', () => resolve(undefined))
  })
  if (line === undefined) {
    const fault = `the test server did not start; set ${VARIABLE} to use a PostgreSQL of your own. ${complaint.trim()}`
    throw new HookonceError('EMBEDDED_FAILED', fault)
  }
  // Neither the keeper nor its pipes keep this process running.
  keeper.unref()
  for (const pipe of [keeper.stdin, keeper.stdout, keeper.stderr]) (pipe as unknown as Socket).unref()
  return (JSON.parse(line) as { url: string }).url
}
