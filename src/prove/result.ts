import type { Fault, Finding } from './judge.ts'

/** The result of one schedule. */
export interface ScheduleResult {
  readonly name: string
  readonly title: string
  readonly outcome: 'held' | 'broken' | 'not-tried'
  /** The reason why the schedule was not tried. */
  readonly reason?: string | undefined
  readonly findings: readonly Finding[]
  /** The shortest schedule that shows the fault, or the schedule that the receiver passed. */
  readonly steps: readonly string[]
  readonly notes: readonly string[]
  /** The number of plays, each with fresh events. */
  readonly plays: number
  readonly ms: number
  /** The command that repeats the schedule. */
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
  /** The effects of one delivery. Every schedule must lead to the same effects. */
  readonly baseline: readonly string[]
  /** Fields that differ between runs, so they are not compared. */
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
