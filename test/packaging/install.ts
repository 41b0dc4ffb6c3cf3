import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { installPackage } from '../support/install-package.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The file that `npm publish` would upload. */
    tarball: string
    /** A folder in which npm has installed the tarball. Tests add files, and change none. */
    installedApp: string
  }
}

const root = join(import.meta.dirname, '..', '..')

/**
 * Installs package managers, Node.js releases and compilers. Packs hookonce once, and installs the
 * file once.
 */
export default async function setup(project: TestProject): Promise<() => void> {
  installPackage(import.meta.dirname)
  const scratch = mkdtempSync(join(tmpdir(), 'hookonce-packaging-'))
  // `npm test` has built dist/ already.
  npm(['pack', '--ignore-scripts', '--pack-destination', scratch], root)
  const [file] = readdirSync(scratch)
  if (file === undefined) throw new Error('npm pack made no file')
  const tarball = join(scratch, file)
  const app = mkdtempSync(join(scratch, 'app-'))
  // Without it, npm installs into the nearest folder above that has a package.json or node_modules.
  writeFileSync(join(app, 'package.json'), '{ "private": true }\n')
  // hookonce needs neither install scripts nor optional packages. `npm run packaging` tries them
  // one by one.
  npm(['install', '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund', tarball], app)
  project.provide('tarball', tarball)
  project.provide('installedApp', app)
  return () => rmSync(scratch, { recursive: true, force: true })
}

function npm(args: readonly string[], cwd: string): void {
  execFileSync('npm', args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] })
}
