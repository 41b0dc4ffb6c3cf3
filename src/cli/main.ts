#!/usr/bin/env node
import pg from 'pg'
import { HookonceError } from '../model/errors.ts'
import { commands } from './commands.ts'
import { print } from './print.ts'

async function main([name, ...args]: readonly string[]): Promise<void> {
  const command = commands.find((candidate) => candidate.name === name)
  if (!command) {
    print(help())
    if (name !== undefined && !['help', '--help', '-h'].includes(name)) process.exitCode = 2
    return
  }
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
    'hookonce <command> --help tells more of one.',
  ].join('\n')
}

function told(error: unknown): string {
  if (error instanceof HookonceError) return `${error.message}\n${error.advice}`
  // A host with several addresses fails once for each.
  if (error instanceof AggregateError) return error.errors.map(told).join('\n')
  if (!(error instanceof Error)) return String(error)
  // The network and the database say in one line what is wrong; a stack would only hide it.
  if ('syscall' in error || error instanceof pg.DatabaseError)
    return `the database cannot be used: ${error.message}`
  return error.stack ?? error.message
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.exitCode = 1
  process.stderr.write(`${told(error)}\n`)
})
