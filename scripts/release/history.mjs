// Reads earlier releases from git.
import { execFileSync } from 'node:child_process'

const FOLDER = 'src/ledger/migrations'

export function git(root, ...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}

/** The newest release tag before `tag`, such as `v0.1.0`. Undefined before the first release. */
export function previousTag(root, tag) {
  const tags = git(root, 'tag', '--list', 'v*', '--merged', 'HEAD', '--sort=-version:refname').split('\n')
  return tags.find((name) => /^v\d+\.\d+\.\d+$/.test(name) && name !== tag)
}

/**
 * The migrations of HEAD that a release did not have, and the oldest migration whose release works
 * after each.
 */
export function migrationsSince(root, tag) {
  const listed = (commit) =>
    git(root, 'ls-tree', '--name-only', commit, `${FOLDER}/`)
      .split('\n')
      .filter((path) => path.endsWith('.sql'))
  const known = tag === undefined ? [] : listed(tag)
  return listed('HEAD')
    .filter((path) => !known.includes(path))
    .map((path) => {
      const name = path.slice(FOLDER.length + 1, -'.sql'.length)
      const [, oldest] = /^-- oldest binary: (\d+)$/m.exec(git(root, 'show', `HEAD:${path}`)) ?? []
      return { name, number: Number.parseInt(name, 10), oldest: Number(oldest ?? Number.parseInt(name, 10)) }
    })
}

/** The schema number of a release is the number of its newest migration: docs/upgrades.md. */
export function newestMigrationOf(root, tag) {
  const files = git(root, 'ls-tree', '--name-only', tag, `${FOLDER}/`).match(/\d{4}(?=-[^/]*\.sql$)/gm)
  return Math.max(0, ...(files ?? []).map(Number))
}

/** Describes for each migration whether processes of the previous release may continue to run. */
export function migrationNotes(root, tag) {
  const migrations = migrationsSince(root, tag)
  if (tag === undefined) return `First release: ${migrations.length} migrations make the ledger.`
  if (migrations.length === 0) return `No migrations since ${tag}.`
  const running = newestMigrationOf(root, tag)
  const lines = migrations.map(({ name, oldest }) =>
    oldest <= running
      ? `- \`${name}\`: processes of ${tag} may continue to run.`
      : `- \`${name}\`: **stop the processes of ${tag} first.** They do not work after it.`,
  )
  return `Migrations since ${tag} (see docs/upgrades.md):\n\n${lines.join('\n')}`
}
