import { didYouMean } from '../input/closest.ts'
import { HookonceError } from '../model/errors.ts'
import { type Baseline, takeBaseline } from './baseline.ts'
import { lineOf } from './changes.ts'
import { defaultRelatedType, type RelatedType } from './events.ts'
import { type Expected, judgeLate } from './judge.ts'
import type { Stage } from './play.ts'
import type { Random } from './random.ts'
import type { ScheduleResult } from './result.ts'
import { schedulesFor } from './schedules/catalogue.ts'
import type { Schedule } from './schedules/steps.ts'
import { type Trial, tryOut } from './try-out.ts'
import { watch } from './watch/watch.ts'

/* The flow: a baseline, then every schedule against it, then a final check for late effects. */

export interface ProofRequest {
  readonly stage: Stage
  readonly random: Random
  readonly rounds: number
  /** The type of a later event of the same object. Undefined: the default of the provider. */
  readonly relatedType: string | undefined
  /**
   * Names of schedules. Empty: all schedules. A prefix selects all schedules that begin with it.
   */
  readonly only: readonly string[]
  /** Stops after the first schedule that breaks the receiver. */
  readonly bail: boolean
  /** The command that repeats one schedule. */
  repeat(schedule: string): string
  onBaseline(lines: readonly string[]): void
  onResult(result: ScheduleResult): void
  readonly stop: AbortSignal
}

export interface ProofRun {
  readonly baseline: Baseline
  /** The results of all schedules. Skipped schedules have a reason. */
  readonly results: readonly ScheduleResult[]
}

export async function prove(request: ProofRequest): Promise<ProofRun> {
  const { stage, random, rounds, relatedType } = request
  const baseline = await takeBaseline(stage)
  request.onBaseline(baselineLines(baseline))
  const schedules = schedulesFor({
    random,
    rounds,
    related: relatedOf(stage, relatedType),
    mayKill: stage.receiver !== undefined,
    hasRows: stage.watchers.rows !== undefined,
    mayAgeRows: stage.mayAgeRows,
    boundaries: baseline.boundaries,
  })
  if (!schedules.some(({ name }) => isWanted(request, name))) throw noSuchSchedule(request, schedules)
  const trials: Trial[] = []
  for (const schedule of schedules) {
    const reason = whyLeftOut(request, schedule, trials)
    const trial =
      reason === undefined
        ? await tryOut({ stage, baseline, schedule, repeat: request.repeat(schedule.name) })
        : { result: leftOut(request, schedule, reason), plays: [] }
    trials.push(trial)
    if (reason === undefined) request.onResult(trial.result)
  }
  return { baseline, results: await withLateEffects(request, baseline, trials) }
}

export function baselineLines({ changes, mask }: Expected): string[] {
  return changes.map((change) => `${change.where}: ${lineOf(change, mask)}`)
}

function relatedOf({ maker }: Stage, chosen: string | undefined): RelatedType | undefined {
  const type = chosen ?? defaultRelatedType(maker)
  return type === undefined ? undefined : { type, isDefault: chosen === undefined }
}

function isWanted({ only }: ProofRequest, name: string): boolean {
  return only.length === 0 || only.some((wanted) => name.startsWith(wanted))
}

function whyLeftOut(request: ProofRequest, { name }: Schedule, trials: readonly Trial[]): string | undefined {
  if (!isWanted(request, name)) return '--only names others'
  if (request.stop.aborted) return 'the run was stopped before it'
  const hasBroken = trials.some(({ result }) => result.outcome === 'broken')
  return request.bail && hasBroken ? '--bail stopped the run before it' : undefined
}

function leftOut({ repeat }: ProofRequest, { name, title }: Schedule, reason: string): ScheduleResult {
  const empty = { findings: [], steps: [], notes: [], plays: 0, ms: 0 }
  return { name, title, outcome: 'not-tried', reason, ...empty, repeat: repeat(name) }
}

function noSuchSchedule({ only }: ProofRequest, schedules: readonly Schedule[]): HookonceError {
  const [wanted = ''] = only
  const names = schedules.map(({ name }) => name)
  return new HookonceError(
    'CONFIG_INVALID',
    `there is no schedule "${wanted}"${didYouMean(wanted, names)}; there are: ${names.join(', ')}`,
  )
}

/** A worker that takes over may repeat an effect after the end of its schedule. */
async function withLateEffects(
  { stage, onResult, stop }: ProofRequest,
  baseline: Baseline,
  trials: readonly Trial[],
): Promise<ScheduleResult[]> {
  if (!stop.aborted && trials.some(({ plays }) => plays.some(({ owesWork }) => owesWork))) {
    const { patienceMs } = stage.patience
    const watching = await watch(stage.watchers, { patienceMs, quietMs: patienceMs / 2 }, [])
    watching.end(await watching.settled())
  }
  return trials.map(({ result, plays }) => {
    const findings = plays.map(({ past }) => judgeLate(baseline, past)).find((found) => found.length > 0)
    if (result.outcome !== 'held' || !findings) return result
    const notes = [...result.notes, 'the second effect came after the schedule had ended']
    const broken: ScheduleResult = { ...result, outcome: 'broken', findings, notes }
    onResult(broken)
    return broken
  })
}
