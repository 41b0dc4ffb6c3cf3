import { expect, test } from 'vitest'
import { commands } from './commands.ts'
import { allSyntax } from './completion.ts'

const syntax = await allSyntax(commands)

/** Ends before it opens a ledger, because the arguments are wrong. */
async function faultOf(name: string, args: readonly string[]): Promise<string> {
  const command = await commands.find((one) => one.name === name)?.load()
  try {
    await command?.run(args)
  } catch (error) {
    return String(error)
  }
  throw new Error(`hookonce ${name} ${args.join(' ')} was not refused`)
}

const verbs = syntax.flatMap(({ name, verbs }) => verbs.map((verb) => ({ name, verb })))

test.each(verbs)('a typo of the verb in hookonce $name $verb is recognised', async ({ name, verb }) => {
  const typo = `${verb.slice(0, -1)}x`
  // Any word after `sources` may be a part of a provider's name.
  const before = name === 'sources' ? `no provider matches "${typo}"` : `unexpected argument "${typo}"`
  expect(await faultOf(name, [typo])).toContain(`${before} (did you mean "${verb}"?): `)
})

/** The arguments that each command with such an option requires. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  token: ['create', 'laptop'],
  import: ['stripe', '--why', 'switch'],
}

const choices = syntax.flatMap(({ name, options }) =>
  options.flatMap(({ name: option, value }) =>
    (value?.words ?? []).map((word) => ({ name, option, word, words: value?.words ?? [] })),
  ),
)

test.each(choices)(
  'a typo of the value in hookonce $name $option $word is recognised',
  async ({ name, option, word, words }) => {
    const typo = `${word.slice(0, -1)}x`
    expect(await faultOf(name, [...(REQUIRED[name] ?? []), option, typo])).toContain(
      `${option} must be one of ${words.join(', ')}, not "${typo}" (did you mean "${word}"?)`,
    )
  },
)

test('a value that resembles no word gets the list only', async () => {
  const fault = await faultOf('events', ['--state', 'lost'])
  expect(fault).toContain('--state must be one of received, ')
  expect(fault).not.toContain('did you mean')
})

test('the tables above are not empty', () => {
  expect(verbs.length).toBeGreaterThan(15)
  expect(choices.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['events', 'outbox', 'token', 'import']),
  )
})
