import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { client, seesAllTenants } from '../api.ts'
import { useResource } from '../data/resource.ts'
import { unreachable } from '../data/unreachable.ts'

/** The numbers in the rail. */
export interface Counts {
  readonly failed: number
  readonly attention: number
}

export const counts = signal<Counts>({ failed: 0, attention: 0 })

/** Counting failed jobs costs the ledger time, so it is not repeated at each change. */
const REFRESH_MS = 5_000

/** Keeps the counts up to date. Used once, by the rail. */
export function useCounts(): void {
  const isWhole = seesAllTenants.value
  const { data, reload } = useResource(
    (signal) => (isWhole ? ofLedger(signal) : ofSources(signal)),
    [isWhole],
    {
      refreshMs: REFRESH_MS,
    },
  )
  useEffect(() => {
    if (data) counts.value = data
  }, [data])
  const isPartMissing = unreachable.value.length > 0
  useEffect(() => {
    // Finds out when the ledger is back, also while changes are paused.
    if (!isPartMissing) return
    const timer = setInterval(reload, REFRESH_MS)
    return () => clearInterval(timer)
  }, [isPartMissing])
}

async function ofLedger(signal: AbortSignal): Promise<Counts> {
  const { totals } = await client.get('/status', { signal })
  return totals
}

/** A token of one tenant cannot read the status, which covers all tenants. */
async function ofSources(signal: AbortSignal): Promise<Counts> {
  let failed = 0
  let attention = 0
  for await (const source of client.items('/sources', { query: { limit: 200 }, signal })) {
    failed += source.failed
    attention += source.attention
  }
  return { failed, attention }
}
