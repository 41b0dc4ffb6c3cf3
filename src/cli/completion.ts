import { existsSync } from 'node:fs'
import { extname, join } from 'node:path'
import { findConfigFile } from '../gateway/config/find-file.ts'
import { readConfigFile } from '../gateway/config/read-file.ts'
import { jobStates } from '../model/job-state.ts'
import { sourceNames } from '../operate/sources.ts'
import { providerIds } from '../sources/catalogue/index.ts'
import { unknownVerb } from './choices.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { bashScript } from './completion/bash.ts'
import { fishScript } from './completion/fish.ts'
import { type CommandSyntax, syntaxOf } from './completion/syntax.ts'
import { zshScript } from './completion/zsh.ts'
import { withLedger } from './open-ledger.ts'
import { print } from './print.ts'

const usage = `hookonce completion bash|zsh|fish
hookonce completion sources [--json] [--dir DIR]

Prints a script that completes commands, options and their values in a shell.
sources prints the names of the sources that the configuration and the ledger know, for these scripts. It starts no
database, and gives up after a second.`

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const

interface ListedCommand {
  readonly name: string
  readonly summary: string
  load(): Promise<Command>
}

/** The table of commands, which also contains this command. */
export function completion(commands: readonly ListedCommand[]): Command {
  return { usage, run: (args) => run(args, commands) }
}

async function run(args: readonly string[], commands: readonly ListedCommand[]): Promise<void> {
  const { values, positionals } = parse({ usage, words: 1 }, args, ledgerOptions)
  const [what] = positionals
  if (what === 'sources') return printSources(values)
  if (values.json) throw usageError({ usage }, '--json goes with sources: a shell reads the scripts')
  if (what === undefined) throw usageError({ usage }, 'give a shell: bash, zsh or fish')
  const shell = Object.entries(SHELLS).find(([name]) => name === what)
  if (!shell) throw unknownVerb({ usage }, what, [...Object.keys(SHELLS), 'sources'])
  print(shell[1](await allSyntax(commands), providerIds).trimEnd())
}

/** Generated from the table of commands, so a new command needs no work here. */
export async function allSyntax(commands: readonly ListedCommand[]): Promise<CommandSyntax[]> {
  return Promise.all(
    commands.map(async ({ name, summary, load }) => {
      const command = await load()
      return syntaxOf({ name, summary, usage: command.usage }, { STATE: jobStates })
    }),
  )
}

/** A short limit, because a person waits for the completion. */
const WITHIN_MS = 1_000

interface SourcesOptions {
  readonly dir: string
  readonly json: boolean
}

async function printSources({ dir, json }: SourcesOptions): Promise<void> {
  const names = new Set(await sourcesOfFile())
  const finish = (): void => endWith(json ? `${JSON.stringify([...names].sort())}\n` : linesOf(names))
  const limit = setTimeout(finish, WITHIN_MS)
  for (const name of await sourcesOfLedger(dir)) names.add(name)
  clearTimeout(limit)
  finish()
}

/** Ends the process: a server that does not answer would keep it alive. */
function endWith(text: string): void {
  process.stdout.write(text, () => process.exit(0))
}

function linesOf(names: ReadonlySet<string>): string {
  return [...names]
    .sort()
    .map((name) => `${name}\n`)
    .join('')
}

/** The sources of the configuration file, if the file can be read without running code. */
async function sourcesOfFile(): Promise<string[]> {
  try {
    const file = findConfigFile()
    if (file === undefined || !['.json', '.yaml', '.yml'].includes(extname(file))) return []
    const { value } = await readConfigFile(file)
    const { sources } = value as { readonly sources?: unknown }
    return typeof sources === 'object' && sources !== null ? Object.keys(sources) : []
  } catch {
    // Faults of the file are reported by `serve --check` and `doctor`, not by a completion.
    return []
  }
}

async function sourcesOfLedger(dir: string): Promise<string[]> {
  const isRunning = existsSync(join(dir, 'postgres', 'postmaster.pid'))
  if (!process.env.DATABASE_URL && !isRunning) return []
  try {
    return await withLedger(dir, sourceNames)
  } catch {
    // `status` and `doctor` report an unreachable database. A completion stays silent.
    return []
  }
}
