#!/usr/bin/env node
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

main(process.argv.slice(2)).catch((error: unknown) => {
  process.exitCode = 1
  if (error instanceof HookonceError) {
    process.stderr.write(`${error.message}\n${error.advice}\n`)
    return
  }
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
})
