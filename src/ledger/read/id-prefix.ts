import { type ErrorCode, HookonceError } from '../../model/errors.ts'

/* An operator may name a receipt or a message by the beginning of its id. */

/** The first and the last id with this prefix; undefined if no id can have it. */
export function idRange(prefix: string): readonly [string, string] | undefined {
  const hex = prefix.replaceAll('-', '').toLowerCase()
  if (!/^[0-9a-f]{1,32}$/.test(hex)) return undefined
  return [hex.padEnd(32, '0'), hex.padEnd(32, 'f')]
}

export interface IdPrefix {
  readonly prefix: string
  readonly noun: string
  readonly code: ErrorCode
}

/** The only row that was found. Throws if there is none, or a second one. */
export function onlyOne<Row>([found, another]: readonly Row[], { prefix, noun, code }: IdPrefix): Row {
  if (!found) throw new HookonceError(code, `no ${noun} has an id that begins with "${prefix}"`)
  if (another)
    throw new HookonceError(
      code,
      `more than one ${noun} has an id that begins with "${prefix}": give more of it`,
    )
  return found
}
