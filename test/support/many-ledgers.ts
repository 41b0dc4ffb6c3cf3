import { basename } from 'node:path'
import { expect } from 'vitest'
import type { Options, Sources } from '../../src/index.ts'
import { MORE_LEDGERS } from './ledger-counts.ts'
import { ONE_LEDGER_FILES } from './one-ledger-files.ts'

/*
 * Scenarios with several ledgers, although they are written for one:
 *
 *   HOOKONCE_TEST_LEDGERS=3                                  on one server
 *   HOOKONCE_TEST_LEDGERS=3 HOOKONCE_TEST_LEDGER_SERVERS=3   on three servers
 *
 * The tenants of the tests live in the schema `hookonce` of the test's database, where the tests
 * look. On three servers, the home ledger is on the second server and another ledger on the third.
 */

const LEDGER = 'hookonce'

/** By the URL of a test's database: the databases of the same test on the other servers. */
const databasesBeside = new Map<string, readonly string[]>()

export function rememberBeside(url: string, others: readonly string[]): void {
  databasesBeside.set(url, others)
}

export function forgetBeside(url: string): void {
  databasesBeside.delete(url)
}

function isAboutOne(): boolean {
  return basename(expect.getState().testPath ?? '') in ONE_LEDGER_FILES
}

type Given = Pick<Options, 'ledgers'> & { readonly database?: string }

/** The options of hookonce(). They replace `database`: the home ledger may be elsewhere. */
export function manyLedgers({ url }: { readonly url: string }, sources: Sources = {}): Given {
  if (MORE_LEDGERS === 0 || isAboutOne()) return {}
  const tenants = new Set(['default', ...Object.values(sources).map(({ tenant }) => tenant)])
  const ledgers = {
    count: MORE_LEDGERS,
    also: [LEDGER],
    tenants: Object.fromEntries([...tenants].map((tenant) => [tenant, LEDGER])),
  }
  const [home, third] = databasesBeside.get(url) ?? []
  if (home === undefined || third === undefined) return { ledgers }
  const placement = { [LEDGER]: url, hookonce_1: third, hookonce_2: url }
  return { database: home, ledgers: { ...ledgers, placement } }
}

/** The same for a command, whose environment names the database. */
export function manyLedgersEnv(env: Readonly<Record<string, string>>): Record<string, string> {
  const { DATABASE_URL: url, HOOKONCE_LEDGERS: own, HOOKONCE_SCHEMA: schema } = env
  if (MORE_LEDGERS === 0 || isAboutOne() || url === undefined || own !== undefined || schema !== undefined)
    return { ...env }
  const { database = url, ledgers } = manyLedgers({ url })
  return { ...env, DATABASE_URL: database, HOOKONCE_LEDGERS: JSON.stringify(ledgers) }
}
