import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { commands } from './commands.ts'
import { allSyntax } from './completion.ts'
import { examples } from './examples.ts'

const syntax = await allSyntax(commands)
const syntaxNamed = (name: string) => syntax.find((one) => one.name === name)

test('every command has an example, and every example a command', () => {
  expect(Object.keys(examples).sort()).toEqual(commands.map(({ name }) => name).sort())
  for (const [name, lines] of Object.entries(examples)) {
    expect(lines.length).toBeGreaterThan(0)
    for (const [line] of lines) expect(line).toContain(`hookonce ${name}`)
  }
})

test('examples use verbs and options that the usage of their command lists', () => {
  const wrong = Object.entries(examples).flatMap(([name, lines]) =>
    lines.flatMap(([line]) => {
      const known = new Set(syntaxNamed(name)?.options.map((option) => option.name))
      const used = line.split(/ > /)[0]?.match(/--[a-z][a-z-]*/g) ?? []
      return used.filter((option) => !known.has(option)).map((option) => `${line}: ${option}`)
    }),
  )
  expect(wrong).toEqual([])
})

/**
 * Options that a file of this folder accepts. Shared options are looked up by the name of their
 * constant.
 */
function acceptedOptions(file: string): string[] {
  const text = readFileSync(new URL(file, import.meta.url), 'utf8')
  const own = [...text.matchAll(/^\s+'?([a-z][a-z-]*)'?: \{ type: '(?:string|boolean)'/gm)]
  const spread = [...text.matchAll(/^\s+\.\.\.(\w+Options),$/gm)].flatMap(
    ([, name = '']) => SHARED[name] ?? [],
  )
  return [...own.map(([, name = '']) => name), ...spread]
}

const SHARED: Readonly<Record<string, readonly string[]>> = {
  ledgerOptions: ['dir', 'json'],
  sourceOptions: ['config', 'secret', 'url', 'setting', 'dir'],
  filterOptions: ['source', 'subscriber', 'type', 'since', 'until'],
  gatewayOptions: ['config', 'port', 'admin-host', 'admin-port', 'admin-path', 'drain'],
}
/** Options that still work under an old name, but are not in the usage. */
const OLD_NAMES = new Set(['trigger --override'])

test('every option that a command accepts is in its usage, and so in its completion', () => {
  const files = new Set(readdirSync(new URL('.', import.meta.url)))
  const missing = syntax.flatMap(({ name, options }) => {
    const file = name === 'resume' ? 'pause.ts' : `${name}.ts`
    if (!files.has(file)) throw new Error(`${file} of the command ${name} is missing`)
    const known = new Set(options.map((option) => option.name))
    return acceptedOptions(file)
      .filter((option) => !known.has(`--${option}`) && !OLD_NAMES.has(`${name} --${option}`))
      .map((option) => `${name} --${option}`)
  })
  expect(missing).toEqual([])
})

test('every command takes --json, except those that print no result', () => {
  const without = syntax.filter(({ options }) => !options.some(({ name }) => name === '--json'))
  expect(without.map(({ name }) => name)).toEqual(['mcp'])
})

test('the usage is parsed into verbs, values and descriptions', () => {
  expect(syntaxNamed('token')?.verbs).toEqual(['create', 'list', 'revoke'])
  expect(syntaxNamed('completion')?.verbs).toEqual(['bash', 'zsh', 'fish', 'sources'])
  expect(syntaxNamed('events')?.verbs).toEqual([])
  expect(syntaxNamed('pause')?.argument).toBe('source')
  expect(syntaxNamed('trigger')?.argument).toBe('provider')
  const option = (command: string, name: string) =>
    syntaxNamed(command)?.options.find((one) => one.name === name)
  expect(option('token', '--role')?.value?.words).toEqual(['viewer', 'operator', 'admin'])
  expect(option('token', '--bodies')?.value).toBeUndefined()
  expect(option('token', '--no-bodies')?.value).toBeUndefined()
  expect(option('events', '--state')?.value?.words).toContain('attention')
  expect(option('events', '--source')?.value?.kind).toBe('source')
  expect(option('migrate', '--keys')?.value).toBeUndefined()
  expect(option('migrate', '--table')?.value?.kind).toBe('text')
  expect(option('verify', '--headers')?.value?.kind).toBe('file')
  expect(option('events', '--dir')?.value?.kind).toBe('folder')
  expect(option('events', '--until')?.meaning).toBe('received before this time')
})
