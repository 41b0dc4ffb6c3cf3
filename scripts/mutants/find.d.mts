export interface Mutant {
  readonly file: string
  readonly line: number
  readonly rule: string
  /** The text of the guard. */
  readonly removed: string
  /** The text around the guard, up to the next inserted expressions. It occurs in the built file too. */
  readonly piece: string
  /** How often the piece occurs in the file before. */
  readonly nth: number
  /** A part of the statement that the test sends. */
  readonly sent: string
  /** The piece without the guard. */
  readonly mutated: string
}

/** Every mutant of one file. */
export function mutantsIn(source: { readonly file: string; readonly text: string }): Mutant[]
