import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '..', '..')
const WORKFLOWS = join(root, '.github/workflows')

interface Job {
  readonly permissions?: Record<string, string>
  readonly needs?: string
  readonly 'timeout-minutes'?: number
  readonly steps: readonly { run?: string; uses?: string; with?: Record<string, unknown> }[]
}

interface Workflow {
  readonly on: object
  readonly permissions: Record<string, string>
  readonly jobs: Record<string, Job>
}

const workflows = readdirSync(WORKFLOWS).map(
  (file) => [file, parse(readFileSync(join(WORKFLOWS, file), 'utf8')) as Workflow] as const,
)
const commandsOf = ({ jobs }: Workflow): string[] =>
  Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run?.split('\n') ?? []))

describe.each(workflows)('the workflow %s', (_file, workflow) => {
  test('runs scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const named = commandsOf(workflow).flatMap((line) => [
      ...(/npm run (?:--silent )?([\w:-]+)/.exec(line)?.slice(1) ?? []),
    ])
    expect(named.filter((script) => !(script in scripts))).toEqual([])
    const files = commandsOf(workflow).filter((line) => line.startsWith('.'))
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })

  test('has jobs that end, and may read only unless a job needs more', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' })
    for (const job of Object.values(workflow.jobs)) expect(job['timeout-minutes']).toBeGreaterThan(0)
  })
})

test('the release is tested first, and published with provenance and without a token', () => {
  const release = Object.fromEntries(workflows)['release.yml'] as Workflow
  expect(release.on).toMatchObject({ push: { tags: [expect.stringMatching(/^v/)] } })
  expect(release.jobs.publish?.needs).toBe('test')
  expect(release.jobs.publish?.permissions).toEqual({ contents: 'write', 'id-token': 'write' })
  const commands = commandsOf(release)
  expect(commands).toContain('.ci/run')
  expect(commands).toContain('npm run first-hour')
  expect(commands.some((line) => /^npm publish .* --provenance\b/.test(line))).toBe(true)
  expect(commands.some((line) => /notes-file release\/notes\.md .*release\/sbom\.cdx\.json/.test(line))).toBe(
    true,
  )
  expect(JSON.stringify(release)).not.toContain('NPM_TOKEN')
})

const PAGES = ['README.md', 'docs/start.md', 'examples/README.md']
const EXAMPLE = 'examples/billing/package.json'

test('every file that names the version of the package is rewritten by a release', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const named = new RegExp(`hookonce-${version}\\.tgz|"hookonce": "\\^`)
  const files = spawnSync('git', ['ls-files', '*.md', '*/package.json'], { cwd: root, encoding: 'utf8' })
  const naming = files.stdout
    .split('\n')
    .filter((file) => file !== '' && named.test(readFileSync(join(root, file), 'utf8')))
  expect(naming.filter((file) => !/^examples\/[\w-]+\/package\.json$/.test(file)).sort()).toEqual(PAGES)
})

/** A small repository with the scripts of the release, and its commands. */
function smallRepository() {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-release-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
  const run = (file: string, ...args: string[]): { status: number | null; printed: string } => {
    const { status, stdout, stderr } = spawnSync(file, args, { cwd: folder, encoding: 'utf8' })
    return { status, printed: `${stdout}${stderr}` }
  }
  const git = (...args: string[]): void => {
    const { status, printed } = run('git', '-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args)
    if (status !== 0) throw new Error(printed)
  }
  const commit = (): void => {
    git('add', '.')
    git('commit', '--quiet', '--message', 'a change')
  }
  const addMigration = (name: string, oldest?: number): void =>
    write(`src/ledger/migrations/${name}.sql`, `${oldest ? `-- oldest binary: ${oldest}\n` : ''}select 1;\n`)
  for (const name of ['scripts/release', 'src/ledger/migrations', 'docs', 'examples/billing'])
    mkdirSync(join(folder, name), { recursive: true })
  cpSync(join(root, 'scripts/release'), join(folder, 'scripts/release'), { recursive: true })
  cpSync(join(root, 'scripts/release.mjs'), join(folder, 'scripts/release.mjs'))
  for (const page of PAGES) write(page, 'npm install ./hookonce-0.1.0.tgz\n')
  write(EXAMPLE, '{\n  "dependencies": {\n    "express": "^5.1.0",\n    "hookonce": "^0.1.0"\n  }\n}\n')
  const manifest = {
    name: 'hookonce',
    version: '0.1.0',
    dependencies: { pg: '^8' },
    devDependencies: { knip: '6' },
  }
  write('package.json', JSON.stringify({ ...manifest, repository: 'github:someone/hookonce' }))
  const packages = {
    '': manifest,
    'node_modules/pg': { version: '8.23.1', license: 'MIT' },
    'node_modules/knip': { version: '6.0.0', dev: true },
  }
  write(
    'package-lock.json',
    JSON.stringify({ name: 'hookonce', version: '0.1.0', lockfileVersion: 3, packages }),
  )
  write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n- The first change.\n')
  addMigration('0001-ledger')
  git('init', '--quiet', '--initial-branch', 'main')
  commit()
  return {
    read: (file: string): string => readFileSync(join(folder, file), 'utf8'),
    write,
    git,
    commit,
    addMigration,
    release: (...args: string[]) => run(process.execPath, 'scripts/release.mjs', ...args),
  }
}

test('without an address of the repository, a release says what to add', () => {
  const { read, write, commit, release } = smallRepository()
  const { repository: _, ...manifest } = JSON.parse(read('package.json'))
  write('package.json', JSON.stringify(manifest))
  commit()
  const { status, printed } = release('0.1.0')
  expect(status).toBe(1)
  expect(printed).toContain(
    'add its address, such as "repository": "github:owner/hookonce" (docs/releasing.md)',
  )
  expect(read('CHANGELOG.md')).not.toContain('## 0.1.0')
})

test('a release is prepared, tagged and described', () => {
  const { read, write, git, commit, addMigration, release } = smallRepository()
  const first = release('0.1.0')
  expect(first.printed).toContain('First release: 1 migrations make the ledger.')
  expect(first.status).toBe(0)
  expect(read('CHANGELOG.md')).toMatch(
    /^# Changelog\n\n## Unreleased\n\n## 0\.1\.0 \(\d{4}-\d\d-\d\d\)\n\n- The first change\.\n$/,
  )
  commit()
  git('tag', 'v0.1.0')

  addMigration('0002-harmless', 1)
  addMigration('0003-breaking')
  write(
    'CHANGELOG.md',
    read('CHANGELOG.md').replace('## Unreleased\n', '## Unreleased\n\n- The second change.\n'),
  )
  commit()
  const second = release('0.2.0')
  expect(second.printed).toContain('- `0002-harmless`: processes of v0.1.0 may continue to run.')
  expect(second.printed).toContain('- `0003-breaking`: **stop the processes of v0.1.0 first.**')
  expect(JSON.parse(read('package.json')).version).toBe('0.2.0')
  expect(JSON.parse(read('package-lock.json')).version).toBe('0.2.0')
  for (const page of PAGES) expect(read(page)).toBe('npm install ./hookonce-0.2.0.tgz\n')
  expect(JSON.parse(read(EXAMPLE)).dependencies).toEqual({ express: '^5.1.0', hookonce: '^0.2.0' })
  commit()
  git('tag', 'v0.2.0')

  expect(release('notes', 'v0.2.0', 'release').status).toBe(0)
  expect(read('release/notes.md')).toMatch(/^- The second change\.\n\nMigrations since v0\.1\.0/)
  expect(read('release/notes.md')).not.toContain('The first change')
  const { metadata, components } = JSON.parse(read('release/sbom.cdx.json'))
  expect(metadata.component).toMatchObject({ name: 'hookonce', version: '0.2.0' })
  expect(components.map(({ purl }: { purl: string }) => purl)).toEqual(['pkg:npm/pg@8.23.1'])
  expect(release('notes', 'v0.3.0', 'release').printed).toContain('package.json has the version 0.2.0')
})

test('a release that would be wrong is refused, and changes nothing', () => {
  const { read, write, git, commit, release } = smallRepository()
  const refused = (version: string): string => {
    const { status, printed } = release(version)
    expect(status).toBe(1)
    expect(read('CHANGELOG.md')).not.toContain(`## ${version}`)
    return printed
  }
  git('tag', 'v0.3.0')
  expect(refused('0.3.0')).toContain('the tag v0.3.0 already exists')
  expect(refused('0.2.9')).toContain('0.2.9 is not newer than v0.3.0')
  expect(refused('next')).toContain('usage')
  write('draft.md', '')
  expect(refused('0.4.0')).toContain('the tree is not clean')
  write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n')
  commit()
  expect(refused('0.4.0')).toContain('nothing below "## Unreleased"')
})
