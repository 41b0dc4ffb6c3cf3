import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
/** Next.js has 300 MB. Only the test that needs it installs it, once. */
const homeOf = (major: number): string => join(ROOT, 'node_modules', '.cache', `hookonce-next-${major}`)

/**
 * The app of test/support/next-app, with the built package, run by Next.js itself. Returns the URL
 * of its root.
 */
export async function startNextApp(major: number, env: Record<string, string>): Promise<string> {
  const home = homeOf(major)
  install(major, home)
  const port = await freePort()
  const next = join(home, 'node_modules', 'next', 'dist', 'bin', 'next')
  const child = spawn(process.execPath, [next, 'dev', '-p', String(port), '-H', '127.0.0.1'], {
    cwd: home,
    env: { ...process.env, ...env, NODE_ENV: 'development', NEXT_TELEMETRY_DISABLED: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const gone = once(child, 'exit')
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      printed += String(chunk)
    })
  onTestFinished(async () => {
    // Also ends the processes that it has started.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    await gone
  })
  await until('Next.js is ready', () => {
    if (child.exitCode !== null) throw new Error(`next dev ended: ${printed}`)
    return printed.includes('Ready')
  })
  return `http://127.0.0.1:${port}`
}

function install(major: number, home: string): void {
  if (!existsSync(join(home, 'node_modules', 'next'))) {
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'package.json'), '{ "private": true }')
    const packages = [`next@${major}`, 'react@19', 'react-dom@19']
    execFileSync('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd: home, stdio: 'ignore' })
  }
  for (const left of ['.next', 'app', 'pages', join('node_modules', 'hookonce')])
    rmSync(join(home, left), { recursive: true, force: true })
  cpSync(join(ROOT, 'test', 'support', 'next-app'), home, { recursive: true })
  for (const part of ['dist', 'package.json'])
    cpSync(join(ROOT, part), join(home, 'node_modules', 'hookonce', part), { recursive: true })
}
