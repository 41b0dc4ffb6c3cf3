import type { Fault, Finding } from './judge.ts'

/** The result of one schedule. */
export interface ScheduleResult {
  readonly name: string
  readonly title: string
  readonly outcome: 'held' | 'broken' | 'not-tried'
  /** Why it was not tried. */
  readonly reason?: string | undefined
  readonly findings: readonly Finding[]
  /** The shortest schedule that shows the fault, or the schedule that held. */
  readonly steps: readonly string[]
  readonly notes: readonly string[]
  /** How many times it was played, with fresh events each time. */
  readonly plays: number
  readonly ms: number
  /** The command that repeats it. */
  readonly repeat: string
}

/** The whole proof, for every kind of report. */
export interface Proof {
  readonly verdict: 'proven' | 'broken'
  readonly url: string
  readonly provider: string
  readonly type: string
  readonly seed: number
  readonly startedAt: string
  readonly ms: number
  /** The effects of one delivery: every schedule must lead to the same. */
  readonly baseline: readonly string[]
  /** Fields that differ from run to run, and so are not compared. */
  readonly masked: readonly string[]
  readonly watched: readonly string[]
  readonly unwatched: readonly string[]
  readonly boundaries: readonly string[]
  readonly results: readonly ScheduleResult[]
  /** The limits of this run, each with advice. */
  readonly limits: readonly string[]
}

export function faultsOf({ findings }: ScheduleResult): Fault[] {
  return [...new Set(findings.map(({ fault }) => fault))]
}
