import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { commands } from '../../src/cli/commands.ts'
import { allSyntax } from '../../src/cli/completion.ts'
import { gatewayConfig } from '../../src/gateway/config/config.ts'
import { parseText } from '../../src/gateway/config/read-file.ts'
import { inFolder, ROOT, readPage, type Snippet, snippetsOf } from './support/snippets.ts'

/*
 * Code in the guides is a file of examples/, which other tests run, or it is compiled here.
 * reference-snippets.test.ts compiles the rest. On every page, also of runbooks and examples,
 * commands and their options exist, and configurations are accepted.
 */

const PAGES = [
  'docs/start.md',
  'docs/concepts.md',
  'docs/compare.md',
  ...inFolder('docs/guides'),
  ...inFolder('docs/migrate'),
]
const EXAMPLES = readdirSync(join(ROOT, 'examples'))
  .map((name) => `examples/${name}/README.md`)
  .filter((page) => existsSync(join(ROOT, page)))
const ALL_PAGES = [
  ...new Set([
    'README.md',
    'SECURITY.md',
    'CONTRIBUTING.md',
    'examples/README.md',
    ...EXAMPLES,
    ...PAGES,
    ...inFolder('docs'),
    ...inFolder('docs/reference'),
    ...inFolder('docs/runbooks'),
  ]),
]

const snippets = snippetsOf(PAGES)
const allSnippets = snippetsOf(ALL_PAGES)
const of = (...languages: string[]): Snippet[] =>
  snippets.filter(({ language }) => languages.includes(language))

test('every page has a snippet, in a language that is checked here', () => {
  const without = PAGES.filter((page) => !/concepts|compare|guides\/README/.test(page)).filter(
    (page) => !snippets.some((snippet) => snippet.page === page),
  )
  expect(without).toEqual([])
  const languages = new Set(snippets.map(({ language }) => language))
  // `npm run first-hour` compares outputs, which are `text`.
  expect([...languages].sort()).toEqual(['js', 'sh', 'text', 'ts', 'yaml'])
})

test('a snippet that names an example equals that example', () => {
  const named = allSnippets.filter(({ example }) => example !== undefined)
  expect(named.length).toBeGreaterThan(9)
  for (const { example = '', code } of named) expect(code).toBe(readPage(example))
})

/** The declarations that old code and short snippets assume. */
const GIVEN = `
import express, { type Request } from 'express'
import { hookonce } from 'hookonce'
import { stripe as stripeSource } from 'hookonce/sources'
import pg from 'pg'
interface StripeEvent { id: string; type: string; data: { object: { id: string } } }
const secret = 'whsec_x'
const app = express()
const raw = express.raw({ type: '*/*' })
const pool = new pg.Pool()
const hooks = hookonce({ sources: { stripe: stripeSource({ secret }) } })
declare const stripe: { webhooks: { constructEvent(body: Buffer, signature: string | string[] | undefined, secret: string): StripeEvent } }
declare const redis: { set(key: string, value: string, ex: 'EX', seconds: number, nx: 'NX'): Promise<'OK' | null> }
declare const queue: { add(name: string, data: unknown, options: { jobId: string; attempts: number; backoff: { type: string; delay: number } }): Promise<void> }
declare class Worker { constructor(name: string, handle: (job: { data: StripeEvent }) => Promise<void>, options: { concurrency: number }) }
declare const boss: {
  send(name: string, data: object, options: { singletonKey: string; retryLimit: number; retryBackoff: boolean }): Promise<string | null>
  work(name: string, options: { batchSize: number }, handle: (jobs: { data: StripeEvent }[]) => Promise<unknown>): Promise<string>
}
declare function handle(event: StripeEvent): Promise<void>
declare function fulfil(invoice: string): Promise<void>
declare const event: StripeEvent
declare const response: { sendStatus(status: number): void }
export { app, raw, pool, hooks, stripe, redis, queue, Worker, boss, handle, fulfil, event, response, secret, type Request }
`

test('all other code of the pages compiles', () => {
  const others = of('ts', 'js').filter(({ example }) => example === undefined)
  expect(others.length).toBeGreaterThan(2)
  mkdirSync(join(ROOT, '.hookonce'), { recursive: true })
  const dir = mkdtempSync(join(ROOT, '.hookonce', 'guides-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  writeFileSync(join(dir, 'given.ts'), GIVEN)
  const files = others.map(({ page, code }, index) => {
    const file = `${page.replaceAll(/\W/g, '-')}-${index}.ts`
    const isRoute = !/^\s*(\/\/.*\n)*\s*(app|hooks|import)\b/.test(code)
    const body = isRoute ? `export async function route() {\n${code}\n}` : code
    writeFileSync(
      join(dir, file),
      `import { ${NAMES.join(', ')} } from './given.ts'\n${body}\nexport { ${NAMES.join(', ')} }\n`,
    )
    return file
  })
  expect(files.length).toBe(others.length)
  const options = { noUnusedLocals: false, rootDir: '.', noEmit: true, declaration: false }
  const config = { extends: '../../tsconfig.json', compilerOptions: options, include: ['*.ts'] }
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify(config))
  const compile = (): void => {
    execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', dir], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }
  try {
    compile()
  } catch (error) {
    throw new Error(`a snippet does not compile:\n${(error as { stdout?: string }).stdout ?? error}`)
  }
})

const NAMES = [
  'app',
  'raw',
  'pool',
  'hooks',
  'stripe',
  'redis',
  'queue',
  'Worker',
  'boss',
  'handle',
  'fulfil',
  'event',
  'response',
  'secret',
]

/** A line that runs hookonce, perhaps with variables before it. */
const COMMAND =
  /(?:^(?:usage:|\$)?\s*(?:[A-Z_]+=\S+ )*|\bnpx |\$\()hookonce (?!is ready)([a-z][a-z-]*)\b(.*)$/

interface ShownCommand {
  readonly page: string
  readonly command: string
  readonly rest: string
}

/** The commands that do not exist, and the options that a command does not have. */
async function unknownOf(shown: readonly ShownCommand[]): Promise<string[]> {
  // `help` is handled before the commands.
  const syntax = new Map(
    (await allSyntax(commands)).map((one) => [one.name, one.options.map(({ name }) => name)]),
  ).set('help', [])
  return shown.flatMap(({ page, command, rest }) => {
    const known = syntax.get(command)
    if (!known) return [`${page}: hookonce ${command}`]
    const used = rest.replaceAll(/"[^"]*"/g, '""').match(/--[a-z][a-z-]*/g) ?? []
    return used
      .filter((option) => !known.includes(option))
      .map((option) => `${page}: hookonce ${command} ${option}`)
  })
}

test('commands of the pages exist, with these options', async () => {
  const lines = allSnippets
    .filter(({ language }) => language === 'sh' || language === '')
    .flatMap(({ page, code }) =>
      code
        .replaceAll('\\\n', ' ')
        .split('\n')
        .flatMap((line) => line.split(/[|;]|&&/))
        .flatMap((part) => {
          const [, command = '', rest = ''] = COMMAND.exec(part) ?? []
          return command === '' ? [] : [{ page, command, rest }]
        }),
    )
  const inline = ALL_PAGES.flatMap((page) =>
    [...readPage(page).matchAll(/`(?:npx )?hookonce ([a-z][a-z-]*)([^`]*)`/g)].map(
      ([, command = '', rest = '']) => ({ page, command, rest }),
    ),
  )
  expect(lines.length).toBeGreaterThan(180)
  const folders = new Set(lines.map(({ page }) => page.split('/').slice(0, 2).join('/')))
  expect([...folders]).toEqual(expect.arrayContaining(['docs/runbooks', 'examples/next-shopify']))
  expect(await unknownOf([...lines, ...inline])).toEqual([])
})

/** Configurations of other programs, by their first word. */
const FOREIGN = /^(?:externalRules|scrape_configs):/

test('configurations of the pages are accepted', async () => {
  const configurations = allSnippets.filter(
    ({ language, code }) => language === 'yaml' && !FOREIGN.test(code) && !/^#.*\n$/.test(code),
  )
  expect(configurations.length).toBeGreaterThan(8)
  for (const { page, code } of configurations) await expectAccepted(page, wholeOf(code))
})

test('JSON of the pages is valid, and its configurations are accepted', async () => {
  const all = allSnippets.filter(({ language }) => language === 'json')
  const values = all.map(({ page, code }) => ({ page, value: JSON.parse(code) as Record<string, unknown> }))
  const isMessage = ({ type }: Record<string, unknown>) => type === 'alerts'
  const configurations = values.filter(({ value }) => !('mcpServers' in value) && !isMessage(value))
  expect(configurations.length).toBeGreaterThan(5)
  for (const { page, value } of configurations) {
    const shown = 'url' in value ? { destinations: { app: value } } : value
    await expectAccepted(page, JSON.stringify({ ...REST, ...shown }))
  }
})

/** The parts that a page may leave out. */
const REST = {
  sources: {
    stripe: { provider: 'stripe', secret: 'env:STRIPE_WEBHOOK_SECRET' },
    github: { provider: 'github', secret: 'env:GITHUB_WEBHOOK_SECRET' },
  },
  destinations: { app: { url: 'https://app.example/hooks', secret: 'env:FORWARD_SECRET' } },
}

test('commands in the configurations of agents exist, with these options', async () => {
  const servers = allSnippets
    .filter(({ language, code }) => language === 'json' && code.includes('mcpServers'))
    .flatMap(({ page, code }) => {
      const { mcpServers } = JSON.parse(code) as { mcpServers: Record<string, AgentServer> }
      return Object.values(mcpServers).map((server) => ({ page, ...server }))
    })
  expect(servers.length).toBeGreaterThan(1)
  const shown = servers.map(({ page, command, args: [program, name = '', ...rest] }) => {
    expect([command, program]).toEqual(['npx', 'hookonce'])
    return { page, command: name, rest: rest.join(' ') }
  })
  expect(await unknownOf(shown)).toEqual([])
})

interface AgentServer {
  readonly command: string
  readonly args: readonly string[]
}

/** YAML includes JSON. */
async function expectAccepted(page: string, code: string): Promise<void> {
  const named = [...code.matchAll(/env:(\w+)/g)].map(([, name = '']) => name)
  const env = Object.fromEntries(named.map((name) => [name, VALUES[name] ?? `whsec_${'y'.repeat(32)}`]))
  const config = await gatewayConfig(parseText(page, code, 'YAML'), env)
  expect(Object.keys(config.sources).length).toBeGreaterThan(0)
}

const VALUES: Readonly<Record<string, string>> = {
  FORWARD_SECRET: `whsec_${Buffer.alloc(32, 'x').toString('base64')}`,
  SLACK_WEBHOOK_URL: 'https://hooks.slack.example/services/x',
}

/** A condition becomes that of a route. */
function wholeOf(code: string): string {
  if (!code.startsWith('where:')) return code
  return `sources: { stripe: { provider: stripe, secret: env:STRIPE_WEBHOOK_SECRET } }
destinations: { app: { url: 'https://app.example/hooks', secret: env:FORWARD_SECRET } }
routes:
  - from: stripe
    to: app
${code.replaceAll(/^/gm, '    ').trimEnd()}
`
}
