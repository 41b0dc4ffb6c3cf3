import { type Frame, textsOf } from './postgres-messages.ts'
import { beginsTransaction, commits, rollsBack, writesOf } from './statements.ts'

/** Messages that the server processes together: up to a Sync, a Flush or a simple query. */
export interface Batch {
  readonly bytes: Buffer
  /** The name of the commit, if this batch commits something: `commit of insert into payments`. */
  readonly commit: string | undefined
  /** Whether the server ends the batch with ReadyForQuery. */
  readonly isAnswered: boolean
}

/** Follows the statements of one connection, and finds the batches that commit. */
export function followTransactions(): (frames: readonly Frame[]) => Batch[] {
  const statements = new Map<string, string>()
  const portals = new Map<string, string>()
  let held: Buffer[] = []
  let commit: string | undefined
  let isOpen = false
  let writes: string[] = []

  function execute(sql: string): void {
    for (const part of parts(sql)) {
      if (beginsTransaction(part)) isOpen = true
      else if (rollsBack(part)) [isOpen, writes] = [false, []]
      else if (commits(part)) {
        isOpen = false
        seal()
      } else {
        writes.push(...writesOf(part))
        if (!isOpen) seal()
      }
    }
  }

  /** This batch commits all writes so far. */
  function seal(): void {
    if (writes.length > 0) commit = `commit of ${[...new Set(writes)].join(', ')}`
    writes = []
  }

  function note({ type, payload }: Frame): void {
    if (type === 'Q') execute(textsOf(payload, 1)[0] ?? '')
    else if (type === 'P') {
      const [name = '', sql = ''] = textsOf(payload, 2)
      statements.set(name, sql)
    } else if (type === 'B') {
      const [portal = '', statement = ''] = textsOf(payload, 2)
      portals.set(portal, statements.get(statement) ?? '')
    } else if (type === 'E') execute(portals.get(textsOf(payload, 1)[0] ?? '') ?? '')
  }

  return (frames) => {
    const batches: Batch[] = []
    for (const frame of frames) {
      note(frame)
      held.push(frame.bytes)
      if (HELD.has(frame.type)) continue
      const isAnswered = frame.type === 'Q' || frame.type === 'S'
      batches.push({ bytes: Buffer.concat(held), commit: isAnswered ? commit : undefined, isAnswered })
      held = []
      if (isAnswered) commit = undefined
    }
    return batches
  }
}

/**
 * Parse, Bind, Describe, Execute, Close: the server would process them at once, so they are held
 * here until the batch is complete.
 */
const HELD = new Set(['P', 'B', 'D', 'E', 'C'])

/** The statements of a simple query. Ignores semicolons inside strings. */
function parts(sql: string): string[] {
  return sql
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .split(';')
    .filter((part) => part.trim() !== '')
}
