import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Builds hookonce as it was before a migration was added to the main line, from the git history.
 * Returns the folder of the build; undefined if the history is not there. Builds are kept between
 * runs, by their commit.
 */
export function buildBefore(migration: string): string | undefined {
  const commit = commitBefore(migration)
  if (commit === undefined) return undefined
  const place = createHash('sha256').update(root).digest('hex').slice(0, 8)
  const kept = join(tmpdir(), `hookonce-build-${place}-${commit.slice(0, 12)}`)
  if (!existsSync(join(kept, 'dist'))) build(commit, kept)
  return join(kept, 'dist')
}

function commitBefore(migration: string): string | undefined {
  if (git('rev-parse', '--is-shallow-repository') !== 'false') return undefined
  const path = `src/ledger/migrations/${migration}`
  const added = git('log', '--first-parent', '-m', '--diff-filter=A', '--format=%H', '-1', '--', path)
  return added ? git('rev-parse', '--verify', `${added}^1`) : undefined
}

/** Undefined if git refuses, or is not there. */
function git(...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

function build(commit: string, target: string): void {
  const folder = mkdtempSync(`${target}-`)
  const options = { cwd: root, maxBuffer: 256 * 1024 * 1024 }
  const files = execFileSync('git', ['archive', commit, 'src', 'package.json', 'tsconfig.json'], options)
  execFileSync('tar', ['-x', '-C', folder], { input: files })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
  // Not checked: it was when it was committed, against the types of that time.
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
