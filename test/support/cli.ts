import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { manyLedgersEnv } from './many-ledgers.ts'
import { until } from './until.ts'

export const MAIN = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))

/**
 * The command must not inherit the tests' database, secrets that open sources, or colour settings.
 */
export const CLI_ENV = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(DATABASE_URL|NO_COLOR|FORCE_COLOR)$|_WEBHOOKS?_SECRET$/.test(name),
  ),
)

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** Standard output as JSON. */
  json<T>(): T
}

/** Runs a command to its end. */
export function cli(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return runToEnd(process.execPath, [MAIN, ...args], { env })
}

/** Runs a line in a shell, exactly as it was shown. `npx hookonce` is this build. */
export function pasted(line: string, where: Where = {}): Promise<Ran> {
  const npx = `npx() { shift; '${process.execPath}' '${MAIN}' "$@"; }`
  return runToEnd('sh', ['-c', `${npx}\n${line}`], where)
}

async function runToEnd(file: string, args: readonly string[], where: Where): Promise<Ran> {
  const { child, output, closed } = begin(file, args, where)
  await closed
  const { stdout, stderr } = output
  return { code: child.exitCode, stdout, stderr, json: <T>() => JSON.parse(stdout) as T }
}

/** A command that keeps running. */
export interface RunningCli {
  readonly child: ChildProcess
  readonly output: { stdout: string; stderr: string }
  /** Waits for a line of JSON, on either stream, that has this field. */
  line<T>(field: string): Promise<T>
  /** Waits for its exit and for the rest of its output. Returns its exit code. */
  ended(): Promise<number | null>
  /** Requests a stop, and waits like `ended`. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

export function startCli(args: readonly string[], env: Record<string, string> = {}): RunningCli {
  return startProgram(process.execPath, [MAIN, ...args], { env })
}

/** Any program that runs the command. */
export function startProgram(file: string, args: readonly string[], where: Where): RunningCli {
  const { child, output, closed } = begin(file, args, where)
  const lines: Record<string, unknown>[] = []
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue
    createInterface({ input: stream }).on('line', (line) => {
      if (line.startsWith('{')) lines.push(JSON.parse(line))
    })
  }
  let isClosed = false
  child.once('close', () => {
    isClosed = true
  })
  async function ended(): Promise<number | null> {
    await closed
    return child.exitCode
  }
  return {
    child,
    output,
    line: <T>(field: string) =>
      until(`${file} ${args.join(' ')} says "${field}"`, () => {
        const found = lines.find((line) => field in line) as T | undefined
        if (!found && isClosed) throw new Error(`it ended: ${output.stdout}${output.stderr}`)
        return found
      }),
    ended,
    stop(signal = 'SIGTERM') {
      child.kill(signal)
      return ended()
    },
  }
}

interface Where {
  readonly env?: Record<string, string>
  readonly cwd?: string
}

function begin(file: string, args: readonly string[], { env = {}, cwd }: Where) {
  const child = spawn(file, args, {
    cwd,
    env: { ...CLI_ENV, ...manyLedgersEnv(env) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    output.stdout += String(chunk)
  })
  child.stderr.on('data', (chunk) => {
    output.stderr += String(chunk)
  })
  // A process may exit before all of its output is read.
  const closed = once(child, 'close')
  const gone = once(child, 'exit')
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM')
      await gone
    }
  })
  return { child, output, closed }
}

export function temporaryDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-cli-'))
  // Readable by others, like a project's directory: otherwise, as root, the data would be
  // elsewhere.
  chmodSync(dir, 0o755)
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}
