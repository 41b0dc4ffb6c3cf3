// Prepares a release. docs/releasing.md explains the steps.
//   npm run release -- 0.2.0                 on a clean tree: writes the version and the section of the changelog
//   npm run release -- notes v0.2.0 FOLDER   writes notes.md and sbom.cdx.json; the workflow calls it
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sectionOf, withRelease } from './release/changelog.mjs'
import { git, migrationNotes, previousTag } from './release/history.mjs'
import { sbomOf } from './release/sbom.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const read = (file) => readFileSync(join(root, file), 'utf8')
const write = (file, text) => writeFileSync(join(root, file), text)

/** Pages that name the file of `npm pack`. */
const PAGES = ['README.md', 'docs/start.md', 'examples/README.md']

function prepare(version) {
  const changes = git(root, 'status', '--porcelain')
  if (changes !== '') throw new Error(`the tree is not clean: commit or stash these changes\n${changes}`)
  const tag = `v${version}`
  if (git(root, 'tag', '--list', tag) !== '') throw new Error(`the tag ${tag} already exists`)
  const last = previousTag(root, tag)
  if (last !== undefined && !isNewer(version, last.slice(1)))
    throw new Error(`${version} is not newer than ${last}`)
  const changelog = withRelease(read('CHANGELOG.md'), version, new Date().toISOString().slice(0, 10))
  const { version: current, repository } = JSON.parse(read('package.json'))
  if (repository === undefined)
    throw new Error(
      'package.json has no "repository", which the provenance of a release names; add its address, such as "repository": "github:owner/hookonce" (docs/releasing.md)',
    )
  const args = ['version', version, '--no-git-tag-version', '--allow-same-version', '--ignore-scripts']
  execFileSync('npm', args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] })
  write('CHANGELOG.md', changelog)
  for (const page of PAGES)
    write(page, read(page).replaceAll(`hookonce-${current}.tgz`, `hookonce-${version}.tgz`))
  for (const file of exampleManifests())
    write(
      file,
      read(file).replace(/("hookonce": "\^)[^"]+"/, (_, start) => `${start}${version}"`),
    )
  return `${version} is prepared.

${migrationNotes(root, last)}

Read the changes, then:

  npm ci && npm test && npm run packaging
  git commit -am "Release ${version}"
  npm run first-hour
  git tag -a ${tag} -m "hookonce ${version}"
  git push origin main ${tag}
`
}

/** Below 1.0.0, `^0.1.0` does not match 0.2.0, so each example must name the new version. */
function exampleManifests() {
  return readdirSync(join(root, 'examples'))
    .map((name) => `examples/${name}/package.json`)
    .filter((file) => existsSync(join(root, file)))
}

function notes(tag, folder) {
  const version = JSON.parse(read('package.json')).version
  if (tag !== `v${version}`) throw new Error(`the tag is ${tag}, but package.json has the version ${version}`)
  const section = sectionOf(read('CHANGELOG.md'), version)
  if (!section) throw new Error(`CHANGELOG.md has no section ${version}`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'notes.md'), `${section}\n\n${migrationNotes(root, previousTag(root, tag))}\n`)
  writeFileSync(join(folder, 'sbom.cdx.json'), sbomOf(root))
  return `wrote notes.md and sbom.cdx.json to ${folder}\n`
}

function isNewer(version, than) {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number))
  const differing = a.findIndex((part, index) => part !== b[index])
  return differing !== -1 && a[differing] > b[differing]
}

const [first = '', tag = '', folder = ''] = process.argv.slice(2)
try {
  if (/^\d+\.\d+\.\d+$/.test(first) && tag === '') process.stdout.write(prepare(first))
  else if (first === 'notes' && tag !== '' && folder !== '') process.stdout.write(notes(tag, folder))
  else throw new Error('usage: npm run release -- 0.2.0, or npm run release -- notes v0.2.0 FOLDER')
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
