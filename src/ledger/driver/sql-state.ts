/** Properties in which libraries keep the driver's error that they wrap. */
const INSIDE = ['cause', 'driverError', 'driverAdapterError', 'meta', 'nativeError'] as const
/**
 * Deeper than any known library nests errors. Also ends the search if an error is its own cause.
 */
const DEEPEST = 6

/**
 * Returns the SQLSTATE of an error, at any depth of wrapping. Without an inner code, returns the
 * outermost `code`, or an empty string.
 */
export function sqlStateOf(error: unknown, depth = 0): string {
  if (typeof error !== 'object' || error === null || depth > DEEPEST) return ''
  for (const name of INSIDE) {
    const found = sqlStateOf(Reflect.get(error, name), depth + 1)
    if (found !== '') return found
  }
  const code = Reflect.get(error, 'originalCode') ?? Reflect.get(error, 'code')
  return typeof code === 'string' ? code : ''
}

/** Serialization failures and deadlocks (P2034: both, in Prisma). */
const CONFLICTS = new Set(['40001', '40P01', 'P2034'])
/** How often a transaction is tried that conflicts with others. */
export const MAX_TRIES = 5

/** Whether the transaction only met another one: a retry may help. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(sqlStateOf(error))
}

/** Runs a transaction again if it met another one. `work` must begin a new transaction each time. */
export async function retryConflicts<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (tries >= MAX_TRIES || !isConflict(error)) throw error
    }
  }
}
