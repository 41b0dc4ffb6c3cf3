import { didYouMean } from '../input/closest.ts'
import type { HookonceError } from '../model/errors.ts'
import { type Command, usageError } from './command.ts'

/** The error for a word that is none of the verbs of a command. */
export function unknownVerb(
  command: Pick<Command, 'usage'>,
  word: string,
  verbs: readonly string[],
): HookonceError {
  const last = verbs.at(-1) ?? ''
  const listed = [verbs.slice(0, -1).join(', '), last].filter((part) => part !== '').join(' or ')
  return usageError(command, `unexpected argument "${word}"${didYouMean(word, verbs)}: give ${listed}`)
}

interface GivenChoice<Word extends string> {
  /** The name of the option, with its dashes. */
  readonly option: string
  readonly text: string
  readonly words: readonly Word[]
}

/** The value of an option that takes one word of a list. Any other value is a usage error. */
export function parseChoice<Word extends string>(
  command: Pick<Command, 'usage'>,
  { option, text, words }: GivenChoice<Word>,
): Word {
  const word = words.find((one) => one === text)
  if (word !== undefined) return word
  const fault = `${option} must be one of ${words.join(', ')}, not "${text}"${didYouMean(text, words)}`
  throw usageError(command, fault)
}
