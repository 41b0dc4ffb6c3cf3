import type { LedgerTables } from '../ledger/ledger.ts'
import { isSet, type Ledgers } from '../ledger/ledger-set.ts'
import { askAll } from './across.ts'

/*
 * Actions on many jobs. A plan lists the jobs, and a second call acts on the plan. With several
 * ledgers, each job of a plan names its ledger.
 */

export interface OfLedger {
  /** Undefined: there is only one ledger. */
  readonly ledger?: string
}

interface Plan<Job> {
  readonly jobs: readonly Job[]
}

export function planEverywhere<Filter, Job extends OfLedger, Planned extends Plan<Job>>(
  plan: (ledger: LedgerTables, filter: Filter) => Promise<Planned>,
  limitOf: (filter: Filter) => number,
  merge: (all: readonly Planned[], jobs: Planned['jobs']) => Planned,
): (ledgers: Ledgers, filter: Filter) => Promise<Planned> {
  return async (ledgers, filter) => {
    if (!isSet(ledgers)) return plan(ledgers, filter)
    const answers = await askAll(ledgers, (tables) => plan(tables, filter))
    const jobs = answers.flatMap(({ ledger, answer }) => answer.jobs.map((job) => ({ ...job, ledger })))
    return merge(
      answers.map(({ answer }) => answer),
      jobs.slice(0, limitOf(filter)),
    )
  }
}

/** Acts on the jobs of each ledger in turn. Returns the number of changed jobs. */
export function actWherePlanned<Planned extends Plan<OfLedger>, Rest extends readonly unknown[]>(
  act: (ledger: LedgerTables, plan: Planned, ...rest: Rest) => Promise<number>,
): (ledgers: Ledgers, plan: Planned, ...rest: Rest) => Promise<number> {
  return async (ledgers, plan, ...rest) => {
    if (!isSet(ledgers)) return act(ledgers, plan, ...rest)
    let changed = 0
    for (const { name, tables } of ledgers.members) {
      const jobs = plan.jobs.filter(({ ledger }) => ledger === name)
      if (jobs.length > 0) changed += await act(await tables(), { ...plan, jobs }, ...rest)
    }
    return changed
  }
}
