import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { installPackage } from '../support/install-package.ts'
import { requireRedis } from '../support/redis.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A folder in which npm has installed the packed tarball of this repository. */
    tarballFolder: string
  }
}

const ROOT = join(import.meta.dirname, '..', '..')

/**
 * Packs the built repository and installs the tarball in an empty folder. Installs the other
 * packages of the examples once, and again when the lockfile has changed.
 */
export default function setup(project: TestProject): () => void {
  requireRedis() // for serverless-redis
  installPackage(join(import.meta.dirname, 'packages'))
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-examples-'))
  const npm = (cwd: string, ...args: string[]): string =>
    execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  // Without scripts: `npm test` has built the package.
  const packed = npm(ROOT, 'pack', '--ignore-scripts', '--json', '--pack-destination', folder)
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }]
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  npm(folder, 'install', '--prefer-offline', '--no-audit', '--no-fund', `./${filename}`)
  project.provide('tarballFolder', folder)
  return () => rmSync(folder, { recursive: true, force: true })
}
