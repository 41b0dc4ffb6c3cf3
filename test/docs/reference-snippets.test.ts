import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { inFolder, ROOT, type Snippet, snippetsOf } from './support/snippets.ts'

/*
 * The code of the README and of the reference compiles. A snippet is a module; the names that it
 * assumes are global here, so that it may declare its own.
 */

const snippets = snippetsOf(['README.md', ...inFolder('docs'), ...inFolder('docs/reference')]).filter(
  ({ language, example }) => /^(?:ts|js)$/.test(language) && example === undefined,
)

const GIVEN = `
import type express from 'express'
import type { Context, Handler, Hookonce, Sources } from 'hookonce'
import type { KeyStore } from 'hookonce/keys'
import type { SigningSource } from 'hookonce/sources'
declare module 'http' {
  interface IncomingMessage { rawBody?: Buffer }
}
interface Invoice { id: string; status: string; customer_email: string }
type Stripe = SigningSource<unknown, Invoice>
interface Mail {
  send(mail: { to: string; idempotencyKey: string; signal: AbortSignal }): Promise<void>
  send(order: Order, idempotencyKey: string): Promise<void>
}
interface Order { id: string; customer: string }
declare global {
  var app: express.Express
  var bank: { charge(order: Order, idempotencyKey: string): Promise<{ id: string }> }
  var bill: (invoice: { amount_paid: number }) => void
  var charge: (body: unknown) => Promise<unknown>
  var createOrder: (...given: unknown[]) => Promise<{ id: number }>
  var ctx: Context
  var custom: typeof import('hookonce/sources').custom
  var event: Parameters<Handler>[0] & { object: Invoice }
  var express: typeof import('express').default
  var expect: typeof import('vitest').expect
  var FORWARD_SECRET: string
  var frankfurtUrl: string
  var github: typeof import('hookonce/sources').github
  var hookonce: typeof import('hookonce').hookonce
  var hooks: Hookonce<{ stripe: Stripe }>
  var keyStoreContract: typeof import('hookonce/keys/contract').keyStoreContract
  var mail: Mail
  var message: { id: string; body: string }
  var order: Order
  var port: number
  var report: (error: unknown) => void
  var ship: (order: unknown, options: { idempotencyKey: string }) => Promise<void>
  var shopify: typeof import('hookonce/sources').shopify
  var sign: typeof import('hookonce/sources').sign
  var slackUrl: string
  var source: SigningSource
  var sources: Sources
  var statsd: { timing(name: string, ms: number): void }
  var store: KeyStore
  var stripe: typeof import('hookonce/sources').stripe
  var test: typeof import('vitest').test
  var to: string
  var tokenFor: (customer: unknown) => string
  var triage: (issue: { number: number }) => void
  var updateCustomer: Handler
  var updateInvoice: Handler
  var userOf: (request: object) => string
}
`

/** Packages of tests that are installed elsewhere. test/official/ has the real types. */
const SDKS = `
declare module 'stripe' {
  namespace Stripe {
    interface Invoice { id: string; amount_paid: number }
    interface Event { id: string; type: 'invoice.paid'; data: { object: Invoice } }
  }
  export default Stripe
}
declare module '@octokit/webhooks-types' {
  export interface EventPayloadMap { issues: { action: 'opened'; issue: { number: number } } }
}
`

const HOOKS = `
import { hookonce } from 'hookonce'
import { stripe } from 'hookonce/sources'
export const hooks = hookonce({ sources: { stripe: stripe({ secret: 'whsec_x' }) } })
`

/** The lines that a reader has around a snippet, by a text of the snippet. */
const AROUND: readonly (readonly [part: string, lines: string])[] = [
  ['app.register(hooks.fastify()', `import fastify from 'fastify'; const app = fastify()`],
  [
    'hooks.koa()',
    `import Koa from 'koa'; const app = new Koa()
const router = { all(_path, _middleware) {} }
const mount = (_prefix, middleware) => middleware`,
  ],
  [
    'NestFactory.create',
    `import { NestFactory } from '@nestjs/core'
class AppModule {}`,
  ],
  [
    'class WebhooksController',
    `import { All, Controller, Req, Res } from '@nestjs/common'
import type { Request, Response } from 'express'`,
  ],
  [
    'drizzleAdapter(db)',
    `import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
const db = drizzle('postgres://localhost/app')
const payments = pgTable('payments', { invoice: text() })`,
  ],
  [
    'TransactionAdapter<MyTransaction>',
    `interface MyTransaction { run(text: string, values: readonly unknown[]): Promise<{ rows: Record<string, unknown>[] }> }
declare const mine: { transaction<Result>(work: (trx: MyTransaction) => Promise<Result>): Promise<Result> }`,
  ],
  [
    'testKeys((store, database)',
    `import type { IncomingMessage, ServerResponse } from 'node:http'
declare const createOrder: (database: string) => (request: IncomingMessage, response: ServerResponse) => void
declare const setup: (database: string) => Promise<void>`,
  ],
  ["shopify<{ 'orders/paid'", 'interface Order { id: number; updated_at: string }'],
]

/** The snippet as a module. A list of options becomes the argument that it belongs to. */
function moduleOf({ code }: Snippet): string {
  const around = AROUND.filter(([part]) => code.includes(part)).map(([, lines]) => lines)
  const options = /^(\w+): \[/.exec(code)
  const body = options
    ? `custom({ provider: 'x', secret: 'x', signature: { algorithm: 'token', header: 'x' }, event: { key: 'json:id' }, ${code}})`
    : code
  return [...around, body, 'export {}\n'].join('\n')
}

function compile(folder: string): string {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  try {
    return execFileSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
  } catch (error) {
    return (error as { stdout?: string }).stdout ?? String(error)
  }
}

test.each(['ts', 'js'])(
  'every snippet in %s compiles',
  (language) => {
    mkdirSync(join(ROOT, '.hookonce'), { recursive: true })
    const folder = mkdtempSync(join(ROOT, '.hookonce', `reference-${language}-`))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    for (const name of ['pages', 'src']) mkdirSync(join(folder, name))
    const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
    write('given.d.ts', GIVEN)
    write('sdks.d.ts', SDKS)
    write('src/hooks.ts', HOOKS)
    const chosen = snippets.filter((snippet) => snippet.language === language)
    expect(chosen.length).toBeGreaterThan(15)
    for (const [index, snippet] of chosen.entries())
      write(`pages/${snippet.page.replaceAll(/\W/g, '-')}-${index}.${language}`, moduleOf(snippet))
    const compilerOptions = {
      ...{ rootDir: '.', noEmit: true, declaration: false, noUnusedLocals: false, noUnusedParameters: false },
      ...{ exactOptionalPropertyTypes: false, experimentalDecorators: true },
      // A project in JavaScript does not check these.
      ...(language === 'js' && {
        allowJs: true,
        checkJs: true,
        noImplicitAny: false,
        strictNullChecks: false,
      }),
      paths: { '@/*': ['./src/*.ts'] },
    }
    const include = ['*.d.ts', 'src/*', 'pages/*']
    write('tsconfig.json', JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include }))
    expect(compile(folder)).toBe('')
  },
  60_000,
)
