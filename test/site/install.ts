import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder of the built site. */
    siteFolder: string
  }
}

const SITE = join(import.meta.dirname, '..', '..', 'site')
const LOCKFILE = join(SITE, 'package-lock.json')
/** Written last: a copy of the lockfile from which node_modules was installed. */
const INSTALLED = join(SITE, 'node_modules', '.installed-lock.json')
/** Not `/`, so that a URL that ignores the base fails. */
export const BASE = '/below/hookonce/'

/** Installs VitePress, once and again when the lockfile has changed, and builds the site. */
export default function setup(project: TestProject): () => void {
  const quiet = { cwd: SITE, stdio: ['ignore', 'ignore', 'pipe'] } satisfies Parameters<
    typeof execFileSync
  >[2]
  if (!existsSync(INSTALLED) || !readFileSync(INSTALLED).equals(readFileSync(LOCKFILE))) {
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], quiet)
    copyFileSync(LOCKFILE, INSTALLED)
  }
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-site-'))
  execFileSync(process.execPath, ['node_modules/vitepress/bin/vitepress.js', 'build'], {
    ...quiet,
    env: { ...process.env, SITE_BASE: BASE, SITE_OUT: folder, NODE_ENV: 'production' },
  })
  project.provide('siteFolder', folder)
  return () => rmSync(folder, { recursive: true, force: true })
}
