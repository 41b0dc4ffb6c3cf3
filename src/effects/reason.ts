import { withoutNul } from '../ledger/binary.ts'

/**
 * A reason as the ledger can keep it. Reasons quote what others sent: a character that a text of the database cannot hold
 * must not turn a known outcome into an unknown one.
 */
export function storableReason(text: string): string {
  return withoutNul(text).replace(/\p{Surrogate}/gu, '\uFFFD')
}
