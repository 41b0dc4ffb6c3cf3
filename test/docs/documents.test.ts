import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { commands } from '../../src/cli/commands.ts'
import { exitCodes } from '../../src/cli/exit-codes.ts'
import type { Doors } from '../../src/delivery/doors.ts'
import { destinationSchema } from '../../src/forward/destination.ts'
import { routes } from '../../src/gateway/api/routes.ts'
import { gatewayConfig } from '../../src/gateway/config/config.ts'
import { configJsonSchema } from '../../src/gateway/config/json-schema.ts'
import { parseText } from '../../src/gateway/config/read-file.ts'
import { DRAIN_MS } from '../../src/hookonce.ts'
import { type ErrorEntry, errorCatalogue } from '../../src/model/errors.ts'
import { jobStates, transitions } from '../../src/model/job-state.ts'
import { mounts } from '../../src/mounts/mounts.ts'
import { meter } from '../../src/observe/metrics.ts'
import { observerMembers } from '../../src/observe/observer.ts'
import { prometheusText } from '../../src/observe/prometheus.ts'
import {
  limitsSchema,
  optionsSchema,
  retentionSchema,
  sourceLimitFields,
  subscriberSchema,
} from '../../src/options.ts'
import { findProvider, providerIds } from '../../src/sources/index.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

test('the state diagram of ARCHITECTURE.md is the state machine of the code', () => {
  const drawn = [...read('ARCHITECTURE.md').matchAll(/^ {2}(\w+) --> (\w+)/gm)].map(
    ([, from, to]) => `${from} → ${to}`,
  )
  const coded = jobStates.flatMap((from) => transitions[from].map((to) => `${from} → ${to}`))
  expect(drawn.sort()).toEqual(coded.sort())
})

test('docs/reference/errors.md lists the catalogue of errors', () => {
  const listed = [
    ...read('docs/reference/errors.md').matchAll(/^\| `(\w+)` \| (\d*) \| (yes|no) \| (.*) \|$/gm),
  ].map((row) => row.slice(1))
  const coded = Object.entries<ErrorEntry>(errorCatalogue).map(([code, entry]) => [
    code,
    String(entry.status ?? ''),
    entry.retryable ? 'yes' : 'no',
    entry.advice,
  ])
  expect(listed).toEqual(coded)
})

test('docs/reference/sources.md lists every provider by its category, and the README counts them', async () => {
  const [, section = ''] = read('docs/reference/sources.md').split(/^## The catalogue$|^## `custom/m)
  const listed = [...section.matchAll(/^\| ([a-z0-9-]+) \| (`.*`) \|$/gm)].map(([, category, ids = '']) => [
    category,
    ids.replaceAll('`', '').split(', '),
  ])
  const categories = new Map<string, string[]>()
  for (const id of providerIds) {
    const category = (await findProvider(id))?.description.about?.category ?? ''
    categories.set(category, [...(categories.get(category) ?? []), id])
  }
  expect(listed).toEqual([...categories].sort(([one], [other]) => (one < other ? -1 : 1)))
  expect(read('README.md')).toContain(`[${providerIds.length} providers](docs/reference/sources.md`)
})

test('docs/reference/library.md lists every member of an observer', () => {
  const [, section = ''] = read('docs/reference/library.md').split(/^## Observing$|^### Traces$/m)
  const listed = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, member]) => member)
  expect(listed.sort()).toEqual([...observerMembers].sort())
})

test('docs/reference/library.md lists the options of hookonce()', () => {
  const [, section = ''] = read('docs/reference/library.md').split(
    /^## `hookonce\(options\)`$|^### Connections$/m,
  )
  const names = [...section.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(
    ([, cell = '']) => cell.match(/[\w.<>]+/g) ?? [],
  )
  const { limits, retention, sourceLimits, retry, encryption, ...plain } = optionsSchema.shape
  const nested = {
    limits: Object.keys(limitsSchema.shape),
    retention: Object.keys(retentionSchema.shape),
    'sourceLimits.<name>': Object.keys(sourceLimitFields),
    retry: ['maxAttempts', 'maxAgeMs', 'baseDelayMs', 'maxDelayMs'],
    encryption: ['key'],
  }
  const coded = [
    ...Object.keys(plain),
    ...Object.entries(nested).flatMap(([name, options]) => options.map((option) => `${name}.${option}`)),
  ]
  expect(names.sort()).toEqual(coded.sort())
})

test('docs/reference/library.md lists the options of .on()', () => {
  const [, section = ''] = read('docs/reference/library.md').split(
    /^## `\.on\(.*$|^### Limit a subscriber.*$/m,
  )
  const listed = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  expect(listed.sort()).toEqual(Object.keys(subscriberSchema.shape).sort())
})

test('docs/reference/metrics.md lists the metrics that the code declares, by kind', () => {
  const text = prometheusText(meter().snapshot({ jobs: [], outbox: [], circuits: [] }))
  const help = new Map([...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name, says]) => [name, says]))
  const declared = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, kind]) => [
    kind,
    name,
    help.get(name),
  ])
  const listed = read('docs/reference/metrics.md')
    .split(/^## /m)
    .flatMap((section) => {
      const kind = section.split('s\n', 1)[0]?.toLowerCase()
      return [...section.matchAll(/^\| `(\w+)` \| [^|]*\| (.*) \|$/gm)].map(([, name, says]) => [
        kind,
        name,
        says,
      ])
    })
  expect(listed).toEqual(declared)
})

test('docs/upgrades.md and each migration name the same oldest version', () => {
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

test('every command of the command line is in its reference', () => {
  const reference = read('docs/reference/cli.md')
  const missing = commands.filter(({ name }) => !reference.includes(`\`hookonce ${name}`))
  expect(missing).toEqual([])
})

test('docs/reference/cli.md lists the exit codes', () => {
  const rows = [...read('docs/reference/cli.md').matchAll(/^\| (\d+) \| (.+) \|$/gm)]
  expect(Object.fromEntries(rows.map(([, code, meaning]) => [code, meaning]))).toEqual(exitCodes)
})

test('docs/reference/forwarding.md lists the options of a destination', () => {
  const [, section = ''] = read('docs/reference/forwarding.md').split(/^## Options of a destination$/m)
  const [options = ''] = section.split(/^## /m)
  const listed = [...options.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  expect(listed.sort()).toEqual(Object.keys(destinationSchema.shape).sort())
})

test('docs/reference/gateway.md lists every option of a configuration', () => {
  const page = read('docs/reference/gateway.md')
  const { properties, $defs } = configJsonSchema() as unknown as JsonSchema
  const { sources, routes, limits, admin, retention, ...plain } = properties
  const options = [
    ...Object.keys(plain),
    ...['limits', 'admin', 'retention'].flatMap((name) =>
      Object.keys(properties[name]?.properties ?? {}).map((option) => `${name}.${option}`),
    ),
    ...Object.keys(routes?.items?.properties ?? {}),
    ...['allow', 'ratePerSecond', 'maxBodyBytes'],
  ]
  expect(options.length).toBeGreaterThan(20)
  const rows = page.match(/^\| [^|]+ \|/gm)?.join('') ?? ''
  expect(options.filter((option) => !rows.includes(`\`${option}\``))).toEqual([])
  const conditions = $defs.filter?.anyOf?.flatMap((one) => Object.keys(one.properties ?? {})) ?? []
  expect(conditions).toContain('atMost')
  expect(conditions.filter((name) => !new RegExp(`\\b${name}\\b`).test(page))).toEqual([])
})

/** The part of a JSON Schema that the test reads. */
interface JsonSchema {
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
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

test('docs/reference/api.md lists every route of the admin API, with its role', () => {
  const listed = [...read('docs/reference/api.md').matchAll(/^\| `([A-Z]+) (\S+)` \| (\w+\*?) \| (.+) \|$/gm)]
  const coded = routes.map(({ method, path, access, summary }) => [
    method,
    path,
    `${access.role}${access.scope === 'ledger' ? '*' : ''}`,
    summary,
  ])
  expect(listed.map((row) => row.slice(1))).toEqual(coded)
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
