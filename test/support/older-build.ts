import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const MIGRATIONS = 'src/ledger/migrations'

/**
 * Builds hookonce from the last commit whose newest migration has this number. Returns the folder
 * of the build, or undefined if the git history is missing.
 */
export function buildOfVersion(version: number): string | undefined {
  const lastCommits = lastCommitByVersion()
  if (lastCommits === undefined) return undefined
  const commit = lastCommits.get(version)
  if (commit === undefined) throw new Error(`no commit has ${version} as the number of its newest migration`)
  return buildOfCommit(commit)
}

/**
 * The build of the newest release tag before this commit. Before the first release, a build that
 * does not know the newest migration replaces it. Undefined if the git history is missing.
 */
export function previousRelease(): string | undefined {
  const versions = builtVersions()
  if (versions === undefined) return undefined
  const tags = git(['tag', '--list', 'v*', '--merged', 'HEAD~1', '--sort=-version:refname'])?.split('\n')
  const tag = tags?.find((name) => /^v\d+\.\d+\.\d+$/.test(name))
  const commit = tag && git(['rev-parse', `${tag}^{commit}`])
  if (commit) return buildOfCommit(commit)
  return buildOfVersion(Math.max(...[...versions].filter((version) => version < Math.max(...versions))))
}

/** Builds are kept between runs, by commit. */
function buildOfCommit(commit: string): string {
  const place = createHash('sha256').update(root).digest('hex').slice(0, 8)
  const kept = join(tmpdir(), `hookonce-build-${place}-${commit.slice(0, 12)}`)
  if (!existsSync(join(kept, 'dist'))) build(commit, kept)
  return join(kept, 'dist')
}

/** The versions of the schema that have a build. Undefined if the git history is missing. */
export function builtVersions(): ReadonlySet<number> | undefined {
  const commits = lastCommitByVersion()
  return commits && new Set(commits.keys())
}

/** The newest build that does not know this migration. Undefined if the git history is missing. */
export function buildBefore(migration: string): string | undefined {
  const earlier = [...(builtVersions() ?? [])].filter((version) => version < Number.parseInt(migration, 10))
  return earlier.length === 0 ? undefined : buildOfVersion(Math.max(...earlier))
}

/**
 * The last commit of each schema version. Undefined if the clone is shallow, or not a clone. Reads
 * only the main line: on a branch, a migration may have had another number before it was merged.
 */
function lastCommitByVersion(): Map<number, string> | undefined {
  if (git(['rev-parse', '--is-shallow-repository']) !== 'false') return undefined
  const commits = git(['rev-list', '--first-parent', 'HEAD'])?.split('\n') ?? []
  // Few commits change the folder, so most commits share its tree.
  const trees = git(
    ['cat-file', '--batch-check=%(objectname)'],
    commits.map((commit) => `${commit}:${MIGRATIONS}`).join('\n'),
  )?.split('\n')
  const versions = new Map<string, number>()
  const last = new Map<number, string>()
  for (const [index, commit] of commits.entries()) {
    const tree = trees?.[index] ?? ''
    const version = versions.get(tree) ?? newestMigrationIn(tree)
    versions.set(tree, version)
    if (!last.has(version)) last.set(version, commit)
  }
  return last
}

/** 0 for the tree of a commit without migrations. */
function newestMigrationIn(tree: string): number {
  const files = git(['ls-tree', '--name-only', tree])?.split('\n') ?? []
  return Math.max(
    0,
    ...files.filter((file) => file.endsWith('.sql')).map((file) => Number.parseInt(file, 10)),
  )
}

/** Undefined if git fails, or is not installed. */
function git(args: string[], input?: string): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', input })
  return status === 0 ? stdout.trim() : undefined
}

function build(commit: string, target: string): void {
  const folder = mkdtempSync(`${target}-`)
  const options = { cwd: root, maxBuffer: 256 * 1024 * 1024 }
  const files = execFileSync('git', ['archive', commit, 'src', 'package.json', 'tsconfig.json'], options)
  execFileSync('tar', ['-x', '-C', folder], { input: files })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
  // Types are not checked: they were checked when the code was committed.
  const tsc = [join(typescript, 'bin', 'tsc'), '-p', folder, '--noCheck', '--declaration', 'false']
  execFileSync(process.execPath, tsc, { stdio: 'inherit' })
  cpSync(join(folder, 'src/ledger/migrations'), join(folder, 'dist/ledger/migrations'), {
    recursive: true,
    filter: (path) => !path.endsWith('.ts'),
  })
  try {
    renameSync(folder, target)
  } catch (error) {
    // Another test process was quicker.
    rmSync(folder, { recursive: true, force: true })
    if (!existsSync(join(target, 'dist'))) throw error
  }
}
