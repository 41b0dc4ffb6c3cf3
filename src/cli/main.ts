import { readFileSync } from 'node:fs'
import { type ErrorCode, HookonceError } from '../model/errors.ts'
import { commands } from './commands.ts'
import { print, safeBlock } from './print.ts'

async function main([name, ...args]: readonly string[]): Promise<void> {
  // `help show` is `show --help`.
  if (name === 'help' && args[0] !== undefined) return main([args[0], '--help'])
  if (name !== undefined && ['version', '--version', '-v'].includes(name)) return print(packageVersion())
  const entry = commands.find((candidate) => candidate.name === name)
  if (!entry) {
    if (name === undefined || ['help', '--help', '-h'].includes(name)) return print(help())
    process.stderr.write(`there is no command "${name}"\n\n${help()}\n`)
    process.exitCode = 2
    return
  }
  const command = await entry.load()
  if (args.includes('--help') || args.includes('-h')) return print(command.usage)
  await command.run(args)
}

function help(): string {
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}`)
  return [
    'hookonce makes every webhook take effect once.',
    '',
    ...lines,
    '',
    'hookonce help <command> tells more of one, hookonce --version which hookonce this is.',
  ].join('\n')
}

/** As npm knows it; src/ and dist/ lie beside its file. */
function packageVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}

/** Their own messages say what to do, and know it better than the advice of the catalogue. */
const SAYS_WHAT_TO_DO: ReadonlySet<ErrorCode> = new Set([
  'CONFIG_INVALID',
  'DATABASE_UNREACHABLE',
  'DATABASE_REFUSED',
  'DIR_UNUSABLE',
  'EMBEDDED_NOT_FETCHED',
])

async function told(error: unknown): Promise<string> {
  if (error instanceof HookonceError) {
    return SAYS_WHAT_TO_DO.has(error.code) ? error.message : `${error.message}\n${error.advice}`
  }
  // A host with several addresses fails once for each.
  if (error instanceof AggregateError) return (await Promise.all(error.errors.map(told))).join('\n')
  if (!(error instanceof Error)) return String(error)
  const { default: pg } = await import('pg')
  // The network and the database say in one line what is wrong; a stack would only hide it.
  if ('syscall' in error || error instanceof pg.DatabaseError)
    return `the database cannot be used: ${error.message}`
  return error.stack ?? error.message
}

main(process.argv.slice(2)).catch(async (error: unknown) => {
  // Part of the text may come from a server or a file.
  const text = safeBlock(await told(error))
  // Not by exitCode alone: a connection that was refused while it logged in would keep the process
  // for a minute.
  process.stderr.write(
    `${text}
`,
    () => process.exit(1),
  )
})
