// Which Markdown files are pages of the site, at which address, and in which section.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')

/** Pages that are not in docs/, by their file. */
const ELSEWHERE = {
  'site/index.md': 'index.md',
  'bench/README.md': 'benchmark.md',
  'examples/README.md': 'examples/index.md',
  ...Object.fromEntries(
    readdirSync(join(ROOT, 'examples'))
      .map((name) => [`examples/${name}/README.md`, `examples/${name}.md`])
      .filter(([file]) => existsSync(join(ROOT, file))),
  ),
  'ARCHITECTURE.md': 'project/architecture.md',
  'CONTRIBUTING.md': 'project/contributing.md',
  'CHANGELOG.md': 'project/changelog.md',
  'SECURITY.md': 'project/security.md',
  'dashboard/README.md': 'project/dashboard.md',
}

/** The address of each page, by its file. Both end in `.md`. */
export const pages = new Map([
  ...markdownIn('docs').map((file) => [file, addressOf(file)]),
  ...Object.entries(ELSEWHERE).filter(([file]) => existsSync(join(ROOT, file))),
])

function addressOf(file) {
  return file.replace(/^docs\//, '').replace(/(^|\/)README\.md$/, '$1index.md')
}

function markdownIn(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => posix.join(folder, file.replaceAll('\\', '/')))
    .sort()
}

/**
 * The sections of the sidebar. `first` are addresses in the order of reading. A section with a
 * `folder` also takes every other page of it, so a new page needs no line here.
 */
const SECTIONS = [
  { text: 'Start', first: ['start', 'concepts', 'promises', 'compare'] },
  {
    text: 'Guides',
    folder: 'guides',
    first: [
      'guides/index',
      'guides/charge-once',
      'guides/email-once',
      'guides/out-of-order',
      'guides/rotate-a-secret',
      'guides/many-tenants',
      'guides/test-your-handlers',
      'guides/go-to-production',
      'guides/incident',
      'scaling',
      'deploy',
      'privacy',
      'reconcile',
      'upgrades',
    ],
  },
  {
    text: 'Migrate',
    folder: 'migrate',
    first: ['migrate/index', 'migrate/processed-events', 'migrate/redis-set-nx', 'migrate/queue'],
  },
  {
    text: 'Reference',
    folder: 'reference',
    first: [
      'reference/library',
      'reference/effects',
      'reference/outbox',
      'reference/sources',
      'reference/providers',
      'reference/frameworks',
      'reference/adapters',
      'reference/keys',
      'reference/keys-interoperability',
      'reference/inline',
      'reference/gateway',
      'reference/forwarding',
      'reference/cli',
      'reference/api',
      'reference/api-routes',
      'reference/dashboard',
      'reference/alerts',
      'reference/metrics',
      'reference/tracing',
      'reference/testing',
      'reference/prove',
      'reference/errors',
      'reference/database-role',
    ],
  },
  { text: 'Runbooks', folder: 'runbooks', first: ['runbooks/index'], collapsed: true },
  { text: 'Evidence', first: ['proof', 'benchmark'] },
  {
    text: 'Examples',
    folder: 'examples',
    first: ['examples/index', 'examples/express-billing'],
    collapsed: true,
  },
  { text: 'Decisions', folder: 'decisions', first: ['decisions/index'], collapsed: true },
  {
    text: 'Project',
    folder: 'project',
    first: [
      'project/changelog',
      'project/architecture',
      'project/contributing',
      'project/security',
      'project/dashboard',
    ],
    // Pages that no other section has.
    rest: true,
    collapsed: true,
  },
]

/** Titles are for search boxes. In the sidebar, these pages have a shorter name. */
const LABELS = {
  concepts: 'How it works',
  promises: 'Promises and limits',
  compare: 'Comparison',
  'guides/index': 'All guides',
  'guides/charge-once': 'Charge once',
  'guides/email-once': 'E-mail once',
  'guides/out-of-order': 'Events out of order',
  'guides/rotate-a-secret': 'Rotate a secret',
  'guides/many-tenants': 'Many tenants',
  'guides/test-your-handlers': 'Test your handlers',
  'guides/go-to-production': 'Go to production',
  'guides/incident': 'In an incident',
  scaling: 'Scale',
  deploy: 'Deploy',
  privacy: 'Privacy',
  reconcile: 'Missed webhooks',
  upgrades: 'Upgrades',
  'migrate/index': 'The switch',
  'migrate/processed-events': 'From your own table',
  'migrate/redis-set-nx': 'From Redis SET NX',
  'migrate/queue': 'From BullMQ or pg-boss',
  'migrate/hookdeck': 'From Hookdeck',
  'migrate/svix-ingest': 'From Svix Ingest',
  'migrate/convoy': 'From Convoy',
  'runbooks/index': 'All alerts',
  'decisions/index': 'All decisions',
  'examples/index': 'All examples',
  'examples/express-billing': 'Express, Stripe, Drizzle',
  'examples/fastify-github': 'Fastify, GitHub',
  'examples/next-shopify': 'Next.js, Shopify',
  'examples/hono-standard-webhooks': 'Hono, Standard Webhooks',
  'examples/nest-orders': 'NestJS, Idempotency-Key',
  'examples/gateway-python': 'Gateway, Python',
  'examples/serverless-redis': 'Serverless, Redis',
  proof: 'How hookonce is tested',
  benchmark: 'Benchmark',
}

/** The sections, each with its pages: `{ file, address, title, label }`. */
export function sections() {
  const all = [...pages].map(([file, address]) => page(file, address))
  const left = new Map(all.map((page) => [page.address.replace(/\.md$/, ''), page]))
  left.delete('index')
  const take = (name) => {
    const page = left.get(name)
    left.delete(name)
    return page ? [page] : []
  }
  const first = SECTIONS.map((section) => section.first.flatMap(take))
  const inFolder = SECTIONS.map(({ folder }) =>
    folder === undefined
      ? []
      : [...left.keys()].filter((name) => name.startsWith(`${folder}/`)).flatMap(take),
  )
  return SECTIONS.map(({ text, rest, collapsed }, index) => ({
    text,
    collapsed,
    pages: [...first[index], ...inFolder[index], ...(rest ? [...left.keys()].flatMap(take) : [])],
  })).filter((section) => section.pages.length > 0)
}

function page(file, address) {
  const title = titleOf(file)
  return { file, address, title, label: LABELS[address.replace(/\.md$/, '')] ?? title }
}

/** The first heading, without its markup. */
export function titleOf(file) {
  const [, title] = /^# (.+)$/m.exec(readFileSync(join(ROOT, file), 'utf8')) ?? []
  return title?.replaceAll('`', '') ?? file
}

/** Patterns of Markdown files that are no pages. */
export function notPages() {
  const folders = readdirSync(ROOT, { withFileTypes: true })
  return folders.flatMap((entry) => {
    if (entry.name === 'docs') return []
    if (!entry.isDirectory()) return entry.name.endsWith('.md') && !pages.has(entry.name) ? [entry.name] : []
    const kept = [...pages.keys()].filter((file) => file.startsWith(`${entry.name}/`))
    if (kept.length === 0) return [`${entry.name}/**`]
    return readdirSync(join(ROOT, entry.name), { recursive: true, encoding: 'utf8' })
      .map((file) => posix.join(entry.name, file.replaceAll('\\', '/')))
      .filter((file) => file.endsWith('.md') && !kept.includes(file) && !file.includes('node_modules/'))
  })
}
