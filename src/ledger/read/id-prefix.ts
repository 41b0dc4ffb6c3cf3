import { type ErrorCode, HookonceError } from '../../model/errors.ts'

/* People name receipts and messages by the beginning of their ids. */

/** The first and the last id that begin so; undefined where none can. */
export function idRange(prefix: string): readonly [string, string] | undefined {
  const hex = prefix.replaceAll('-', '').toLowerCase()
  if (!/^[0-9a-f]{1,32}$/.test(hex)) return undefined
  return [hex.padEnd(32, '0'), hex.padEnd(32, 'f')]
}

export interface Asked {
  readonly prefix: string
  readonly noun: string
  readonly code: ErrorCode
}

/** Of those found, the one that was meant: a second means that the prefix is not enough. */
export function onlyOne<Row>([found, another]: readonly Row[], { prefix, noun, code }: Asked): Row {
  if (!found) throw new HookonceError(code, `no ${noun} has an id that begins with "${prefix}"`)
  if (another)
    throw new HookonceError(
      code,
      `more than one ${noun} has an id that begins with "${prefix}": give more of it`,
    )
  return found
}
