import { didYouMean } from '../input/closest.ts'
import { type ErrorCode, HookonceError } from '../model/errors.ts'
import { surviveClosedPipe } from './closed-pipe.ts'
import { commands } from './commands.ts'
import { commandHelp, programHelp } from './help.ts'
import { packageVersion } from './package-version.ts'
import { print, safeBlock } from './print.ts'
import { styleOf } from './style.ts'

/** The exit code for an error of the running command. */
let failureCode = 1

async function main([name, ...args]: readonly string[]): Promise<void> {
  const style = styleOf(process.stdout)
  // `help show` is `show --help`.
  if (name === 'help' && args[0] !== undefined) return main([args[0], '--help'])
  if (name !== undefined && ['version', '--version', '-v'].includes(name)) return print(packageVersion())
  const entry = commands.find((candidate) => candidate.name === name)
  if (!entry) {
    if (name === undefined || ['help', '--help', '-h'].includes(name)) return print(programHelp(style))
    const names = commands.map((candidate) => candidate.name)
    const unknown = safeBlock(`there is no command "${name}"${didYouMean(name, names)}`)
    process.stderr.write(`${unknown}\n\n${programHelp(styleOf(process.stderr))}\n`)
    process.exitCode = 2
    return
  }
  const command = await entry.load()
  failureCode = command.failureCode ?? failureCode
  if (args.includes('--help') || args.includes('-h')) return print(commandHelp(entry, command.usage, style))
  await command.run(args)
}

/** Messages with these codes contain advice, so the catalogue's advice is not added. */
const WITH_OWN_ADVICE: ReadonlySet<ErrorCode> = new Set([
  'CONFIG_INVALID',
  'DATABASE_UNREACHABLE',
  'DATABASE_REFUSED',
  'DIR_UNUSABLE',
  'EMBEDDED_NOT_FETCHED',
  'PORT_TAKEN',
])

async function errorText(error: unknown): Promise<string> {
  if (error instanceof HookonceError) {
    return WITH_OWN_ADVICE.has(error.code) ? error.message : `${error.message}\n${error.advice}`
  }
  // A host with several addresses fails once per address.
  if (error instanceof AggregateError) return (await Promise.all(error.errors.map(errorText))).join('\n')
  if (!(error instanceof Error)) return String(error)
  const { default: pg } = await import('pg')
  // Errors of the network and the database are clear without a stack trace.
  if ('syscall' in error || error instanceof pg.DatabaseError)
    return `the database cannot be used: ${error.message}`
  return error.stack ?? error.message
}

surviveClosedPipe({
  isEndless: commands.some(({ name, isEndless }) => name === process.argv[2] && isEndless === true),
})
main(process.argv.slice(2)).catch(async (error: unknown) => {
  // Part of the text may come from a server or a file.
  const text = safeBlock(await errorText(error))
  // process.exitCode is not enough: a connection that was refused at login keeps the process alive
  // for a minute.
  process.stderr.write(
    `${text}
`,
    () => process.exit(failureCode),
  )
})
