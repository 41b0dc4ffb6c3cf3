import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { freshDatabase } from '../../support/database.ts'
import { freePort } from '../../support/free-port.ts'
import { type Command, output, start } from './command.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** The commands that run scripts and the command line in a folder with hookonce. */
export interface Runner {
  readonly cwd: string
  readonly node: Command
  readonly hookonce: Command
  /** Yarn's Plug'n'Play cannot load an ES module by `require()`. */
  readonly canRequire?: boolean | undefined
  readonly env?: Record<string, string> | undefined
}

/** The scripts that `load` and `play` run. */
export function addScripts(folder: string): void {
  copyFileSync(join(root, 'examples/invoices.mjs'), join(folder, 'invoices.mjs'))
  writeFileSync(
    join(folder, 'imports.mjs'),
    `import { hookonce } from 'hookonce'
import { stripe } from 'hookonce/sources'
console.log(typeof hookonce, typeof stripe)
`,
  )
  writeFileSync(
    join(folder, 'requires.cjs'),
    `console.log(typeof require('hookonce').hookonce, typeof require('hookonce/sources').stripe)\n`,
  )
}

/** Prints the version, and imports the library from both kinds of modules. */
export async function load({ cwd, node, hookonce, canRequire = true, env }: Runner): Promise<void> {
  expect((await output([...hookonce, '--version'], { cwd, env })).trim()).toBe(version)
  const script = canRequire ? 'requires.cjs' : 'imports.mjs'
  expect(await output([...node, script], { cwd, env })).toMatch(/^function function$/m)
}

/**
 * Follows the README: the example as a receiver with a worker, one event that is delivered twice,
 * one receipt, and the status of the ledger.
 */
export async function play({ cwd, node, hookonce, env }: Runner): Promise<void> {
  const db = await freshDatabase()
  const port = await freePort()
  const place = {
    cwd,
    env: { ...env, DATABASE_URL: db.url, STRIPE_WEBHOOK_SECRET: 'whsec_try', PORT: String(port) },
  }
  const app = start([...node, 'invoices.mjs'], place)
  await app.prints('POST http://127.0.0.1:')
  const url = `http://127.0.0.1:${port}/webhooks/stripe`
  const trigger = ['trigger', 'stripe', 'invoice.paid', '--times', '2', '--url', url]
  const answers = await output([...hookonce, ...trigger], place)
  expect(answers.match(/recorded|duplicate/g)).toEqual(['recorded', 'duplicate'])
  await app.prints('receipt for')
  app.kill('SIGTERM')
  await app.exited()
  expect(app.printed().match(/receipt for/g)).toHaveLength(1)
  expect(await db.number('select count(*) from payments')).toBe(1)
  expect(await db.rows('select state::text from hookonce.job')).toEqual([{ state: 'processed' }])
  expect(await output([...hookonce, 'status'], place)).toMatch(
    /^backlog +0 waiting, 0 retrying, 0 processing$/m,
  )
}
