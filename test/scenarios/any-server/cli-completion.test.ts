import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { commands } from '../../../src/cli/commands.ts'
import { cli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { freePort } from '../../support/free-port.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { folderWithHookonce, installShell, runShell, type ShellRun } from '../../support/shells.ts'
import { inTerminal } from '../../support/terminal.ts'
import { until } from '../../support/until.ts'

/* Real shells load the script that the built command prints, and complete a line. */

type Where = Omit<ShellRun, 'script'>
type Lines = readonly (readonly string[])[]

const NEXT = '== next =='

/** The completions of bash for each line. The last word of a line is being typed. */
function inBash(script: string, lines: Lines, where: Where = {}): string[][] {
  const runs = lines.map((words) => {
    const list = words.map((word) => `"${word}"`).join(' ')
    return `COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _hookonce; printf '%s\\n' "\${COMPREPLY[@]}"; echo '${NEXT}'`
  })
  return answers(runShell('bash', { ...where, script: [`source ${script}`, ...runs].join('\n') }))
}

function inFish(script: string, lines: Lines, where: Where = {}): string[][] {
  const runs = lines.map((words) => `complete -C '${words.join(' ')}'; echo '${NEXT}'`)
  const found = runShell('fish', { ...where, script: [`source ${script}`, ...runs].join('\n') })
  return answers(found.map((line) => line.split('\t', 1)[0] ?? ''))
}

function answers(lines: readonly string[]): string[][] {
  const found: string[][] = [[]]
  for (const line of lines) {
    if (line === NEXT) found.push([])
    else found.at(-1)?.push(line)
  }
  return found.slice(0, -1).map((offered) => offered.sort())
}

async function scriptFor(shell: string): Promise<string> {
  const file = join(temporaryDirectory(), 'completion')
  writeFileSync(file, (await cli(['completion', shell])).stdout)
  return file
}

describe.each([
  ['bash', inBash],
  ['fish', inFish],
] as const)('in %s', (shell, complete) => {
  test('commands, verbs, options and values are completed', async () => {
    const expected: readonly (readonly [line: string, offered: readonly string[]])[] = [
      ['do', ['doctor']],
      ['re', ['reconcile', 'rejections', 'replay', 'resume']],
      ['help out', ['outbox']],
      ['token re', ['revoke']],
      ['events --st', ['--state']],
      ['events --state pro', ['processed', 'processing']],
      ['token create --role op', ['operator']],
      // Only the options of this command.
      ['outbox replay --sub', []],
      ['trigger shopi', ['shopify']],
      // The value is unknown, so nothing is offered, especially no option.
      ['events --limit ', []],
    ]
    const lines = expected.map(([line]) => ['hookonce', ...line.split(' ')])
    const offered = complete(await scriptFor(shell), lines)
    expect(offered).toEqual(expected.map(([, words]) => words))
  })

  test('every command is offered', async () => {
    const [offered = []] = complete(await scriptFor(shell), [['hookonce', '']])
    expect(commands.map(({ name }) => name).filter((name) => !offered.includes(name))).toEqual([])
  })

  test('names of sources come from the configuration', async () => {
    const cwd = temporaryDirectory()
    writeFileSync(join(cwd, 'hookonce.config.yaml'), 'sources:\n  billing: {}\n  shop: {}\n')
    const lines = [
      ['hookonce', 'pause', 'b'],
      ['hookonce', 'events', '--source', 's'],
    ]
    expect(complete(await scriptFor(shell), lines, { cwd })).toEqual([['billing'], ['shop']])
  })

  test('files and folders are completed, also with a blank in their name', async () => {
    const cwd = temporaryDirectory()
    mkdirSync(join(cwd, 'data folder'))
    writeFileSync(join(cwd, 'data.json'), '{}')
    const lines = [
      ['hookonce', 'events', '--dir', 'data'],
      ['hookonce', 'verify', '--body', 'data.'],
    ]
    const offered = complete(await scriptFor(shell), lines, { cwd })
    const bare = (line: string): string => line.replaceAll('\\', '').replace(/\/$/, '')
    expect(offered.map((line) => line.map(bare))).toEqual([['data folder'], ['data.json']])
  })
})

describe('with Tab in a terminal', () => {
  test.each([
    ['bash', ['--norc', '--noprofile', '-i'], 'source <(hookonce completion bash)'],
    ['zsh', ['-f', '-i'], 'autoload -U compinit; compinit -u -D; source <(hookonce completion zsh)'],
  ] as const)('%s completes a command and an option', async (shell, flags, load) => {
    const env = { PATH: `${folderWithHookonce()}:${process.env.PATH}`, HOME: temporaryDirectory(), PS1: '> ' }
    const terminal = inTerminal([installShell(shell), ...flags], env)
    terminal.type(`${load}; echo load''ed\n`)
    await terminal.shows('loaded')
    // Tab completes the line, and the shell runs it.
    terminal.type('hookonce rejecti\t --hel\t | head -1; echo ran="$?"\n')
    await terminal.shows(/hookonce rejections \[[\s\S]*ran=0/)
    terminal.type('exit\n')
    expect(await terminal.ended()).toBe(0)
  })

  test('zsh completes from $fpath, values and sources too', async () => {
    const folder = temporaryDirectory()
    const { stdout } = await cli(['completion', 'zsh'])
    writeFileSync(join(folder, '_hookonce'), stdout)
    writeFileSync(join(folder, 'hookonce.config.json'), '{"sources":{"billing":{}}}')
    const env = { PATH: `${folderWithHookonce()}:${process.env.PATH}`, HOME: temporaryDirectory(), PS1: '> ' }
    const terminal = inTerminal([installShell('zsh'), '-f', '-i'], env)
    terminal.type(
      `cd ${folder}; fpath=(${folder} $fpath); autoload -U compinit; compinit -u -D; echo load''ed\n`,
    )
    await terminal.shows('loaded')
    terminal.type('hookonce token create x --role oper\t --help | head -1; echo en""d1\n')
    await terminal.shows('end1')
    expect(terminal.output()).toContain('--role operator')
    terminal.type('hookonce pause bil\t --help | head -1; echo en""d2\n')
    await terminal.shows('end2')
    expect(terminal.output()).toContain('pause billing')
    terminal.type('exit\n')
    expect(await terminal.ended()).toBe(0)
  })
})

describe('hookonce completion', () => {
  test('for an unknown shell names the known ones', async () => {
    const ended = await cli(['completion', 'fihs'])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toContain('unexpected argument "fihs" (did you mean "fish"?)')
    expect((await cli(['completion'])).stderr).toContain('give a shell: bash, zsh or fish')
  })

  test('sources lists those of the ledger', async () => {
    const dir = temporaryDirectory()
    const db = await freshDatabase()
    const hooks = testHooks(db).on('test', '*', () => undefined)
    await deliver(hooks, { id: 'evt_1', type: 'a' })
    // The completion stops after a second, which a busy machine may need to start the process.
    await until('the source is listed', async () => {
      const ran = await cli(['completion', 'sources', '--dir', dir], { DATABASE_URL: db.url })
      expect(ran).toMatchObject({ code: 0, stderr: '' })
      return ran.stdout === 'test\n'
    })
  })

  test('sources is silent if there is no ledger, or it cannot be reached', async () => {
    const dir = temporaryDirectory()
    const json = await cli(['completion', 'sources', '--json', '--dir', dir])
    expect(json).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' })
    expect((await cli(['completion', 'bash', '--json'])).stderr).toContain('--json goes with sources')
    expect(await cli(['completion', 'sources', '--dir', dir])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    })
    const env = { DATABASE_URL: `postgres://nobody@127.0.0.1:${await freePort()}/none` }
    expect(await cli(['completion', 'sources', '--dir', dir], env)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    })
  })
})
