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
/** Next.js does not compile files below a folder `node_modules`, so the example has another home. */
const EXAMPLE = join(ROOT, '.hookonce', 'next-shopify')

const NEXT = ['react@19', 'react-dom@19']
/** The other packages of the example, besides those that the root has. */
const OF_EXAMPLE = ['@types/react@19', 'tsx@4', 'typescript@7']

/** A build takes ten seconds of CPU time, and longer on a busy machine. */
const START_LIMIT_MS = 200_000

type Environment = Readonly<Record<string, string>>

/**
 * The app of test/support/next-app, with the built package, run by Next.js itself. Returns the URL
 * of its root.
 */
export async function startNextApp(major: number, env: Environment): Promise<string> {
  const home = homeOf(major)
  install(home, [`next@${major}`, ...NEXT])
  for (const left of ['.next', 'app', 'pages']) rmSync(join(home, left), { recursive: true, force: true })
  cpSync(join(ROOT, 'test', 'support', 'next-app'), home, { recursive: true })
  const port = await freePort()
  const next = join(home, 'node_modules', 'next', 'dist', 'bin', 'next')
  const args = [next, 'dev', '-p', String(port), '-H', '127.0.0.1']
  await startIn(home, [process.execPath, ...args], { ...env, NODE_ENV: 'development' }, 'Ready')
  return `http://127.0.0.1:${port}`
}

/**
 * Builds examples/next-shopify with the built package, and starts it with its worker, by the
 * scripts of its package.json. Returns the URL of its root.
 */
export async function startNextExample(env: Environment): Promise<string> {
  const home = EXAMPLE
  install(home, ['next@16', ...NEXT, ...OF_EXAMPLE])
  for (const left of ['.next', 'app', 'src', 'test'])
    rmSync(join(home, left), { recursive: true, force: true })
  cpSync(join(ROOT, 'examples', 'next-shopify'), home, { recursive: true })
  await startIn(home, ['npm', 'run', 'build'], { NODE_ENV: 'production' }, '/webhooks/[source]')
  const port = await freePort()
  const start = ['npm', 'start', '--', '-p', String(port), '-H', '127.0.0.1']
  await startIn(home, ['npm', 'run', 'worker'], env, 'the worker is running')
  await startIn(home, start, { ...env, NODE_ENV: 'production' }, 'Ready')
  return `http://127.0.0.1:${port}`
}

/** Resolves when the program has printed this text. Ends it after the test. */
async function startIn(
  home: string,
  [command = '', ...args]: readonly string[],
  env: Environment,
  text: string,
): Promise<void> {
  const child = spawn(command, args, {
    cwd: home,
    env: { ...process.env, ...env, NEXT_TELEMETRY_DISABLED: '1' },
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
  const hasPrinted = (): boolean => {
    if (printed.includes(text)) return true
    if (child.exitCode !== null) throw new Error(`${command} ended: ${printed}`)
    return false
  }
  await until(`"${[command, ...args].join(' ')}" prints "${text}"`, hasPrinted, START_LIMIT_MS)
}

function install(home: string, packages: readonly string[]): void {
  if (!existsSync(join(home, 'node_modules', 'next'))) {
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'package.json'), '{ "private": true }')
    execFileSync('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd: home, stdio: 'ignore' })
  }
  rmSync(join(home, 'node_modules', 'hookonce'), { recursive: true, force: true })
  for (const part of ['dist', 'package.json'])
    cpSync(join(ROOT, part), join(home, 'node_modules', 'hookonce', part), { recursive: true })
}
