import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { chromiumOptions } from '../../scripts/chromium.mjs'
import { serveSeeded } from '../../scripts/seeding/gateway.mjs'
import { seedLedger } from '../../scripts/seeding/seed.mjs'
import { databaseUrl, TEMPLATE } from '../support/servers.ts'

/*
 * One Chromium, and one large ledger with a gateway for all tests that only read. Tests that change
 * something have their own small ledger.
 */
declare module 'vitest' {
  export interface ProvidedContext {
    /** The endpoint at which tests connect to the browser. */
    browserUrl: string
    largeLedgerUrl: string
    /** The address of the dashboard over the large ledger. */
    largeDashboard: string
  }
}

/** HOOKONCE_RECEIPTS makes the ledger smaller, for the inner loop. */
const RECEIPTS = Number(process.env.HOOKONCE_RECEIPTS ?? 200_000)
const SEED = Number(process.env.HOOKONCE_SEED ?? 1)
const LARGE = 'hookonce_large'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const url = databaseUrl(project.getProvidedContext().serverUrl, LARGE)
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-browser-'))
  chmodSync(dir, 0o755)
  const [browser] = await Promise.all([
    chromium.launchServer(chromiumOptions()),
    makeLargeLedger(project, url),
  ])
  const gateway = await serveSeeded({ databaseUrl: url, dir })
  project.provide('browserUrl', browser.wsEndpoint())
  project.provide('largeLedgerUrl', url)
  project.provide('largeDashboard', `http://127.0.0.1:${gateway.adminPort}`)
  return async () => {
    await gateway.stop()
    await browser.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

async function makeLargeLedger(project: TestProject, url: string): Promise<void> {
  const admin = new pg.Client({ connectionString: project.getProvidedContext().serverUrl })
  await admin.connect()
  await admin.query(`create database ${LARGE} template ${TEMPLATE}`)
  await admin.end()
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  await seedLedger(pool, { receipts: RECEIPTS, seed: SEED })
  await pool.end()
  process.stdout.write(`the large ledger holds ${RECEIPTS} receipts, HOOKONCE_SEED=${SEED}\n`)
}
