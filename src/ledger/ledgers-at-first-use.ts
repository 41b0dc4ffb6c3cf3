import type { Ledger, LedgerTables } from './ledger.ts'
import type { LedgerSet } from './ledger-set.ts'

/** Several ledgers, each opened at its first use. */
export interface OpenedLedgers {
  /** The ledgers as a set, with what its user needs of each. */
  set(tablesOf: (ledger: Ledger) => LedgerTables): LedgerSet
  /** Opens the ledger. After a failure the next call tries again. */
  open(name: string): Promise<Ledger>
  close(): Promise<void>
}

export interface FirstUse {
  /** The home ledger first. */
  readonly names: readonly string[]
  open(name: string): Promise<Ledger>
}

export function ledgersAtFirstUse({ names, open }: FirstUse): OpenedLedgers {
  const opening = new Map<string, Promise<Ledger>>()
  let isClosed = false

  function opened(name: string): Promise<Ledger> {
    if (isClosed) return Promise.reject(new Error(`the ledger ${name} is closed`))
    const known = opening.get(name)
    if (known) return known
    const started = open(name).catch((error: unknown) => {
      opening.delete(name)
      throw error
    })
    opening.set(name, started)
    return started
  }

  return {
    set: (tablesOf) => ({
      members: names.map((name) => ({ name, tables: async () => tablesOf(await opened(name)) })),
    }),
    open: opened,
    async close() {
      isClosed = true
      const all = await Promise.allSettled(opening.values())
      await Promise.all(all.map((one) => (one.status === 'fulfilled' ? one.value.close() : undefined)))
    },
  }
}
