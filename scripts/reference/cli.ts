import { type CommandEntry, commands } from '../../src/cli/commands.ts'
import { exitCodes } from '../../src/cli/exit-codes.ts'
import { commandHelp } from '../../src/cli/help.ts'
import { styleOf } from '../../src/cli/style.ts'
import { tools } from '../../src/mcp/tools.ts'
import { code, codeBlock, markdownTable } from './markdown.ts'

/** Commands with a page of their own. */
const PAGES: Readonly<Record<string, string>> = { prove: 'prove.md', mcp: 'mcp.md' }

export function commandTable(): string {
  const rows = commands.map(({ name, summary }) => [
    `[${code(`hookonce ${name}`)}](${PAGES[name] ?? `#hookonce-${name}`})`,
    summary,
  ])
  return markdownTable(['command', 'what it does'], rows)
}

export function exitCodeTable(): string {
  return markdownTable(['exit code', 'meaning'], Object.entries(exitCodes))
}

/** How a command is called: the first lines of its help text. */
export async function synopsis(name: string): Promise<string> {
  const { usage } = await entryOf(name).load()
  return codeBlock(usage.split('\n\n', 1)[0] ?? '')
}

/** What `hookonce help <command>` prints. */
export async function helpText(name: string): Promise<string> {
  const entry = entryOf(name)
  return codeBlock(commandHelp(entry, (await entry.load()).usage, styleOf({}, {})))
}

function entryOf(name: string): CommandEntry {
  const entry = commands.find((one) => one.name === name)
  if (!entry) throw new Error(`there is no command "${name}"`)
  return entry
}

/** The tools of `hookonce mcp`, each with the first sentence of its description. */
export function toolTable(changes: boolean): string {
  const rows = tools
    .filter((tool) => tool.changes === changes)
    .map(({ name, description }) => [code(name), description.split(/(?<=\.) /, 1)[0] ?? ''])
  return markdownTable(['tool', 'what it does'], rows)
}
