import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Doors } from '../../src/delivery/doors.ts'
import { gatewayConfig } from '../../src/gateway/config/config.ts'
import { configJsonSchema } from '../../src/gateway/config/json-schema.ts'
import { parseText } from '../../src/gateway/config/read-file.ts'
import { DRAIN_MS } from '../../src/hookonce.ts'
import { jobStates, transitions } from '../../src/model/job-state.ts'
import { mounts } from '../../src/mounts/mounts.ts'
import { observerMembers } from '../../src/observe/observer.ts'
import { providerIds } from '../../src/sources/index.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

test('the state diagram of ARCHITECTURE.md is the state machine of the code', () => {
  const drawn = [...read('ARCHITECTURE.md').matchAll(/^ {2}(\w+) --> (\w+)/gm)].map(
    ([, from, to]) => `${from} → ${to}`,
  )
  const coded = jobStates.flatMap((from) => transitions[from].map((to) => `${from} → ${to}`))
  expect(drawn.sort()).toEqual(coded.sort())
})

test('the README counts the providers', () => {
  expect(read('README.md')).toContain(`[${providerIds.length} providers](docs/reference/sources.md`)
})

test('docs/reference/library.md lists every member of an observer', () => {
  const [, section = ''] = read('docs/reference/library.md').split(/^## Observing$|^### Traces$/m)
  const listed = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, member]) => member)
  expect(listed.sort()).toEqual([...observerMembers].sort())
})

test('docs/upgrades.md tells which version works after a migration as the migration does', () => {
  const folder = 'src/ledger/migrations'
  const files = readdirSync(join(root, folder)).filter((file) => file.endsWith('.sql'))
  const rows = [...read('docs/upgrades.md').matchAll(/^\| (\d{4}) [^|]+\| (\d{4}) \|/gm)]
  expect(rows.length).toBeGreaterThan(2)
  for (const [, migration = '', oldest] of rows) {
    const file = files.find((name) => name.startsWith(migration))
    const [, declared] = /^-- oldest binary: (\d+)$/m.exec(read(`${folder}/${file}`)) ?? []
    expect([migration, Number(oldest)]).toEqual([migration, Number(declared)])
  }
})

test.each([
  ['README.md', 'examples/invoices.mjs'],
  ['docs/reference/inline.md', 'examples/inline.mjs'],
])('the example in %s is the example that runs', (document, example) => {
  expect(read(document)).toContain(`<!-- ${example} -->\n\`\`\`js\n${read(example)}\`\`\``)
})

test('the example of a transform is the example that runs', () => {
  expect(read('docs/reference/forwarding.md')).toContain(
    `<!-- examples/transform.mjs -->\n\`\`\`js\n${read('examples/transform.mjs')}\`\`\``,
  )
})

test.each(['src/app.ts', 'test/app.test.ts'])(
  'the example %s of testing is the example that runs',
  (file) => {
    const example = `examples/express-billing/${file}`
    expect(read('docs/reference/testing.md')).toContain(
      `<!-- ${example} -->\n\`\`\`ts\n${read(example)}\`\`\``,
    )
  },
)

test('the example of the outbox is the example that runs', () => {
  expect(read('docs/reference/outbox.md')).toContain(
    `<!-- examples/outbox.mjs -->\n\`\`\`js\n${read('examples/outbox.mjs')}\`\`\``,
  )
})

test('the example of traces is the example that runs', () => {
  expect(read('docs/reference/tracing.md')).toContain(
    `<!-- examples/tracing.mjs -->\n\`\`\`js\n${read('examples/tracing.mjs')}\`\`\``,
  )
})

test('docs/reference/frameworks.md and README.md show every method that mounts hookonce', () => {
  const methods = Object.keys(mounts({} as Doors)).map((name) => `hooks.${name}()`)
  expect(methods.length).toBeGreaterThan(6)
  for (const page of ['docs/reference/frameworks.md', 'README.md'])
    expect(methods.filter((method) => !read(page).includes(method))).toEqual([])
})

test('docs/reference/frameworks.md names the majors that the tests install', () => {
  const majorOf = (manifest: string, name: string): number => {
    const { dependencies, devDependencies } = JSON.parse(read(manifest)) as Manifest
    return Number.parseInt((devDependencies?.[name] ?? dependencies?.[name] ?? '').replace('^', ''), 10)
  }
  const packages = {
    Express: 'express',
    Fastify: 'fastify',
    Hono: 'hono',
    Koa: 'koa',
    NestJS: '@nestjs/core',
  }
  for (const [framework, name] of Object.entries(packages)) {
    const majors = `${majorOf('test/frameworks/previous/package.json', name)}, ${majorOf('package.json', name)}`
    expect(read('docs/reference/frameworks.md')).toMatch(
      new RegExp(`^\\| \\[${framework}\\]\\S+ \\| ${majors} \\|`, 'm'),
    )
  }
})

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

test('docs/reference/gateway.md lists every condition of a filter', () => {
  const page = read('docs/reference/gateway.md')
  const { $defs } = configJsonSchema() as unknown as JsonSchema
  const conditions = $defs.filter?.anyOf?.flatMap((one) => Object.keys(one.properties ?? {})) ?? []
  expect(conditions).toContain('atMost')
  expect(conditions.filter((name) => !new RegExp(`\\b${name}\\b`).test(page))).toEqual([])
})

/** The part of a JSON Schema that the test reads. */
interface JsonSchema {
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly anyOf?: readonly JsonSchema[]
  readonly $defs: Readonly<Record<string, JsonSchema>>
}

test('the first configuration of docs/reference/gateway.md is accepted', async () => {
  const [, text = ''] = /```yaml\n([\s\S]*?)```/.exec(read('docs/reference/gateway.md')) ?? []
  const secret = `whsec_${Buffer.alloc(32, 'x').toString('base64')}`
  const env = { STRIPE_WEBHOOK_SECRET: 'whsec_x', FORWARD_SECRET: secret }
  const config = await gatewayConfig(parseText('hookonce.config.yaml', text, 'YAML'), env)
  expect(config.routes.map(({ destination }) => destination)).toEqual(['billing', 'review'])
})

test('every threat of SECURITY.md has a control and a test', () => {
  const [, table = ''] = read('SECURITY.md').split('| threat | control | test |\n|---|---|---|\n')
  const rows = table.split(/\n\n/, 1)[0]?.split('\n') ?? []
  expect(rows.length).toBeGreaterThan(15)
  for (const row of rows) expect(row).toMatch(/^\| [^|]+ \| [^|]+ \| (\[[\w-]+\]\(\S+\.test\.ts\)(, )?)+ \|$/)
})

test('the requirements of the reference are those of the package', () => {
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
  expect(read('docs/reference/library.md')).toContain(`| Node | ${engines.node.replace('>=', '')} or later |`)
})

test('the drain time of the reference is that of the code, and ends before Docker kills', () => {
  expect(read('docs/reference/library.md')).toContain(`\`drainMs\` (${DRAIN_MS / 1_000} 000: `)
  expect(read('docs/reference/cli.md')).toContain(`| \`--drain TIME\` | \`${DRAIN_MS / 1_000}s\` |`)
  // After the drain, handlers have a second to honour their signal.
  expect(DRAIN_MS + 1_000).toBeLessThan(10_000)
})

describe('links between documents', () => {
  const documents = [
    ...markdown('docs'),
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'SECURITY.md',
  ]
  test.each(documents)('%s links to files that are there', (document) => {
    const targets = [...read(document).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(
      ([, target]) => target ?? '',
    )
    const missing = targets.filter((target) => !exists(join(root, dirname(document), target)))
    expect(missing).toEqual([])
  })
})

function markdown(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => relative(root, join(root, folder, file)))
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}
