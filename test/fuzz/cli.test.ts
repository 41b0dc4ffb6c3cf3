import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { commands } from '../../src/cli/commands.ts'
import { examples } from '../../src/cli/examples.ts'
import { exitCodes } from '../../src/cli/exit-codes.ts'
import type { Random } from '../chaos/random.ts'
import { CLI_ENV, cli, temporaryDirectory } from '../support/cli.ts'
import { freshDatabase } from '../support/database.ts'
import { seedJobs } from '../support/seed.ts'
import { fuzz } from './cases.ts'
import { mutatedText, nastyText } from './mutate.ts'

/*
 * Arguments of every command, on a real ledger. A command does its work or prints one error of the
 * catalogue, never a stack.
 */
const HOST = fileURLToPath(new URL('./cli-host.mjs', import.meta.url))
/**
 * The last of equal options wins: these prevent a command from listening, waiting or calling other
 * hosts.
 */
const HARMLESS: Readonly<Record<string, readonly string[]>> = {
  dev: ['--port', '99999'],
  serve: ['--check'],
  listen: ['--from', 'http://127.0.0.1:1', '--to', '1'],
  trigger: ['--url', 'http://127.0.0.1:1/'],
  prove: ['--provider', 'no-such-provider'],
}
/** These commands run a program, or print endlessly. */
const NEVER = /^--?(start|follow)/

interface CommandLine {
  readonly name: string
  readonly options: readonly string[]
  readonly lines: readonly (readonly string[])[]
}

async function commandLines(): Promise<CommandLine[]> {
  return Promise.all(
    commands.map(async ({ name, load }) => {
      const { usage } = await load()
      const lines = (examples[name] ?? [])
        .map(([line]) => line.split(/\s+/))
        .filter((words) => words[0] === 'hookonce' && words[1] === name)
        .map((words) => words.slice(2).map((word) => word.replaceAll('"', '')))
      return { name, options: [...new Set(usage.match(/--[a-z][a-z-]+/g) ?? [])], lines: [[], ...lines] }
    }),
  )
}

function argumentsOf(random: Random, { name, options, lines }: CommandLine): string[] {
  const args = [...random.pick(lines)]
  for (let count = random.below(5); count > 0; count -= 1) {
    const at = random.below(args.length + 1)
    const option = options.length > 0 ? random.pick(options) : '--json'
    random.pick<() => void>([
      () => args.splice(at, 0, option),
      () => args.splice(at, 0, option, nastyText(random)),
      () => args.splice(at, 0, `${option}=${nastyText(random)}`),
      () => args.splice(at, 0, nastyText(random)),
      () => args.splice(at, 0, random.pick(['--', '-', '-h', '--json', '--limit', '1e3', '2h', '-5'])),
      () => args.splice(at, 1),
      () => args.splice(at, 1, mutatedText(random, args[at] ?? '')),
      () => args.splice(at, 0, ...args.slice(at, at + 2)),
    ])()
  }
  // An argument of a process cannot hold a zero byte. After `--`, options would be plain arguments.
  const possible = args
    .map((arg) => arg.replaceAll('\0', ''))
    .filter((arg) => !NEVER.test(arg) && arg !== '--help' && arg !== '-h')
  const harmless = HARMLESS[name]
  return [name, ...(harmless ? [...possible.filter((arg) => arg !== '--'), ...harmless] : possible)]
}

interface Host {
  run(args: readonly string[]): Promise<void>
}

const MAX_RSS_BYTES = 600 * 1024 * 1024

async function startHost(env: Record<string, string>, cwd: string): Promise<Host> {
  const child: ChildProcess = fork(HOST, {
    env: { ...CLI_ENV, ...env },
    cwd,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'message')
  const gone = once(child, 'exit')
  return {
    async run(args) {
      child.send(args)
      const ended = gone.then(() => {
        throw new Error(`the process ended at ${JSON.stringify(args)}`)
      })
      const [{ fault, rssBytes }] = await Promise.race([once(child, 'message'), ended])
      if (fault !== undefined) throw new Error(`hookonce ${JSON.stringify(args)}: ${fault}`)
      expect(rssBytes).toBeLessThan(MAX_RSS_BYTES)
    },
  }
}

test('no arguments make a command print a stack, hang or crash', { timeout: 24 * 3_600_000 }, async () => {
  const db = await freshDatabase()
  await seedJobs(db, 20, { state: 'failed' })
  const env = { DATABASE_URL: db.url }
  const dir = temporaryDirectory()
  const lines = await commandLines()
  const host = await startHost(env, dir)
  await fuzz({ name: 'cli', cases: 101 }, async (random, index) => {
    const args = argumentsOf(random, random.pick(lines))
    if (index % 100 > 0) return host.run(args)
    // The whole program, with its exit code.
    const { code, stderr } = await cli(args, env)
    expect(Object.keys(exitCodes), `${JSON.stringify(args)}: ${stderr}`).toContain(String(code))
    expect(stderr, JSON.stringify(args)).not.toMatch(/^\s+at .+:\d+:\d+\)?$/m)
  })
})
