import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { commands } from '../../../src/cli/commands.ts'
import { examples } from '../../../src/cli/examples.ts'
import { exitCodes } from '../../../src/cli/exit-codes.ts'
import { CLI_ENV, cli, MAIN, startCli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { listening } from '../../support/listening-server.ts'
import { seedJobs } from '../../support/seed.ts'
import { cliInTerminal } from '../../support/terminal.ts'

/* The common behaviour of all commands: help, colours, exit codes, closed pipes, both ports. */

test('the documented commands for operators exist', () => {
  const promised =
    'dev serve migrate doctor status events show replay failures attention rejections outbox pause resume sources verify trigger listen token stats prune reconcile'
  const names = new Set(commands.map(({ name }) => name))
  expect(promised.split(' ').filter((name) => !names.has(name))).toEqual([])
})

test('the help text lists every command and exit code', async () => {
  const { code, stdout } = await cli(['--help'])
  expect(code).toBe(0)
  for (const { name, summary } of commands) expect(stdout).toMatch(new RegExp(`^  ${name} +${summary}$`, 'm'))
  for (const [number, meaning] of Object.entries(exitCodes))
    expect(stdout).toContain(`  ${number.padEnd(5)}${meaning}`)
  expect((await cli(['-h'])).stdout).toBe(stdout)
  expect((await cli([])).stdout).toBe(stdout)
})

test('the help of a command ends with its examples', async () => {
  const { stdout } = await cli(['events', '-h'])
  expect(stdout).toMatch(/\n\nExamples:\n {2}hookonce events/)
  for (const [line, meaning] of examples.events ?? []) {
    expect(stdout).toContain(`  ${line}`)
    expect(stdout).toContain(meaning)
  }
})

test('colours are written to a terminal only, and not if the environment forbids them', async () => {
  const args = ['doctor', '--dir', temporaryDirectory(), '--port', '0', '--admin-port', '0']
  const green = '\x1b[32mok  \x1b[39m'
  const terminal = cliInTerminal(args)
  expect(await terminal.ended()).toBe(0)
  expect(terminal.output()).toContain(green)
  const without = cliInTerminal(args, { NO_COLOR: '1' })
  expect(await without.ended()).toBe(0)
  expect(without.output()).not.toContain('\x1b[')
  expect(without.output()).toContain('ok    node')
  expect((await cli(args)).stdout).not.toContain('\x1b[')
  expect((await cli(args, { FORCE_COLOR: '1' })).stdout).toContain(green)
})

test('help in a terminal is the same text, with bold names', async () => {
  const terminal = cliInTerminal(['help'])
  expect(await terminal.ended()).toBe(0)
  const plain = terminal
    .output()
    .replaceAll(/\x1b\[\d+m/g, '')
    .replaceAll('\r\n', '\n')
  expect(plain).toBe((await cli(['help'])).stdout)
  expect(terminal.output()).toContain('\x1b[1mdoctor')
})

test.each([
  { args: ['evnts'], code: 2, says: 'there is no command "evnts" (did you mean "events"?)' },
  { args: ['events', '--sorce', 'x'], code: 1, says: 'unknown option --sorce (did you mean "--source"?)' },
  { args: ['doctor', '--pooled'], code: 1, says: 'unknown option --pooled (did you mean "--pooler"?)' },
  { args: ['doctor', '--workers', '0'], code: 1, says: '--workers must be a number from 1 to 1000, not "0"' },
  {
    args: ['prune', '--messages-older-than', 'week'],
    code: 1,
    says: 'a duration is written as 90s, 15m, 2h or 7d',
  },
])('hookonce $args ends with $code and a suggestion', async ({ args, code, says }) => {
  const ended = await cli(args)
  expect(ended).toMatchObject({ code, stdout: '' })
  expect(ended.stderr).toContain(says)
})

/** Runs a command whose reader closes the pipe after the first bytes, or before them. */
async function withClosedPipe(args: readonly string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...CLI_ENV, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk)
  })
  child.stdout.destroy()
  await once(child, 'close')
  return { code: child.exitCode, stderr }
}

test('a reader that closes the pipe ends a list quietly', async () => {
  const db = await freshDatabase()
  // More output than a pipe can buffer.
  await seedJobs(db, 2_000)
  const args = ['events', '--limit', '2000', '--json']
  expect(await withClosedPipe(args, { DATABASE_URL: db.url })).toEqual({ code: 0, stderr: '' })
  expect(await withClosedPipe(['help'], {})).toEqual({ code: 0, stderr: '' })
})

test('a command that changes something does its work although its output is not read', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 20, { state: 'failed' })
  const { code } = await withClosedPipe(['replay', '--failed'], { DATABASE_URL: db.url })
  expect(code).toBe(0)
  expect(await db.number(`select count(*) from hookonce.job where state = 'failed'`)).toBe(0)
})

test('a gateway continues although its log is no longer read', async () => {
  const { url } = await freshDatabase()
  const args = ['dev', '--port', '0', '--dir', temporaryDirectory(), '--json']
  const dev = startCli(args, { DATABASE_URL: url })
  const { port, curl } = await dev.line<{ port: number; curl: string }>('ready')
  dev.child.stdout?.destroy()
  dev.child.stderr?.destroy()
  const [, signature = ''] = /demo-signature: (\S+?)'/.exec(curl) ?? []
  const [, body = ''] = /-d '([^']*)'/.exec(curl) ?? []
  // Each delivery writes a line to the log.
  for (const status of [202, 200, 200]) {
    const headers = { 'demo-signature': signature }
    const response = await fetch(`http://127.0.0.1:${port}/in/demo`, { method: 'POST', headers, body })
    expect(response.status).toBe(status)
  }
  expect(await dev.stop()).toBe(0)
})

test('if both ports are taken, one error names both', async () => {
  const { url } = await freshDatabase()
  const [port = '', adminPort = ''] = await Promise.all(
    [0, 1].map(async () => new URL(await listening(createServer())).port),
  )
  const args = ['dev', '--port', port, '--admin-port', adminPort, '--dir', temporaryDirectory()]
  const ended = await cli(args, { DATABASE_URL: url })
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain(
    `port ${port} is taken, by another hookonce or another program; choose another with --port`,
  )
  expect(ended.stderr).toContain(
    `port ${adminPort} is taken, by another hookonce or another program; choose another with --admin-port`,
  )
  const half = await cli(['dev', '--port', '0', '--admin-port', adminPort, '--dir', temporaryDirectory()], {
    DATABASE_URL: url,
  })
  expect(half.code).toBe(1)
  expect(half.stderr).toContain(`PORT_TAKEN: port ${adminPort} is taken`)
})
