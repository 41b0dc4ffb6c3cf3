import { HookonceError } from '../model/errors.ts'
import { type Baseline, takeOrderBaseline } from './baseline.ts'
import { asDelivery, signedDelivery } from './events.ts'
import { type Expected, type Finding, judge, judgeOrder, mayStillCome } from './judge.ts'
import { freshEvents, type Play, play, type Stage } from './play.ts'
import type { ScheduleResult } from './result.ts'
import { describeSteps, type Schedule, type Step } from './schedules/steps.ts'
import { shrink } from './shrink.ts'

/* Runs one schedule: plays and judges every variant, and shortens the first variant that fails. */

export interface Trial {
  readonly result: ScheduleResult
  /** Every play of a schedule that is compared with the baseline. */
  readonly plays: readonly Play[]
}

interface TrialRequest {
  readonly stage: Stage
  readonly baseline: Baseline
  readonly schedule: Schedule
  /** The command that repeats the schedule. */
  readonly repeat: string
}

/** The time limit for shortening a schedule. */
const SHRINK_WITHIN_MS = 20_000

export async function tryOut({ stage, baseline, schedule, repeat }: TrialRequest): Promise<Trial> {
  const startedAt = Date.now()
  const isOrder = schedule.events === 2
  const eventNames = isOrder ? ['older', 'newer'] : ['event']
  const plays: Play[] = []
  const notes = new Set<string>()
  const trial = (
    rest: Pick<ScheduleResult, 'outcome'> & Partial<ScheduleResult>,
    steps = schedule.variants[0] ?? [],
  ): Trial => ({
    plays: isOrder ? [] : plays,
    result: {
      name: schedule.name,
      title: schedule.title,
      findings: [],
      steps: describeSteps(steps, eventNames),
      notes: [...notes],
      plays: plays.length,
      ms: Date.now() - startedAt,
      repeat,
      ...rest,
    },
  })

  const expected = whyNot(stage, schedule) ?? (isOrder ? await orderBaseline(stage, schedule) : baseline)
  if (typeof expected === 'string') return trial({ outcome: 'not-tried', reason: expected })
  let impossible: string | undefined
  let held = 0
  for (const steps of schedule.variants) {
    const findings = await attempt(steps, expected)
    if (typeof findings === 'string') impossible = findings
    else if (findings.length === 0) held += 1
    else return shortened(steps, findings, expected)
  }
  return held > 0 ? trial({ outcome: 'held' }) : trial({ outcome: 'not-tried', reason: impossible })

  /** The fault, or the reason why these steps cannot be played. */
  async function attempt(steps: readonly Step[], wanted: Expected): Promise<readonly Finding[] | string> {
    const wait = isOrder ? undefined : mayStillCome(wanted)
    const played = await play(stage, steps, freshEvents(stage, schedule), wait)
    plays.push(played)
    for (const note of played.notes) notes.add(note)
    if (played.repeated > 0) notes.add('a call was repeated under one Idempotency-Key; it counts once')
    if (played.impossible !== undefined) return played.impossible
    return isOrder ? judgeOrder(wanted, played) : judge(wanted, played)
  }

  async function shortened(
    steps: readonly Step[],
    findings: readonly Finding[],
    wanted: Expected,
  ): Promise<Trial> {
    const faults = new Set(findings.map(({ fault }) => fault))
    const shortest = await shrink(steps, findings, {
      deadlineMs: Date.now() + SHRINK_WITHIN_MS,
      async fails(candidate) {
        const again = await attempt(candidate, wanted)
        const isSame = typeof again !== 'string' && again.some(({ fault }) => faults.has(fault))
        return isSame ? again : undefined
      },
    })
    return trial({ outcome: 'broken', findings: shortest.failure }, shortest.steps)
  }
}

/** The effect of both events in their order, or the reason why this effect cannot be determined. */
async function orderBaseline(stage: Stage, schedule: Schedule): Promise<Expected | string> {
  try {
    return await takeOrderBaseline(stage, schedule)
  } catch (error) {
    if (error instanceof HookonceError) return error.message
    throw error
  }
}

/** The reason why a schedule would prove nothing about this receiver. */
function whyNot(stage: Stage, schedule: Schedule): string | undefined {
  if (schedule.reason !== undefined) return schedule.reason
  const { rows, calls } = stage.watchers
  const isAboutAnswers = schedule.variants.every((steps) =>
    steps.some(({ kind }) => kind === 'bad' || kind === 'unusual-bytes'),
  )
  if (!rows && !calls && !isAboutAnswers) return 'effects cannot be seen; pass --database or --downstream'
  if (schedule.events === 2 && !isDated(stage, schedule))
    return 'the events of this provider carry no date, so no order is defined'
  return undefined
}

function isDated(stage: Stage, schedule: Schedule): boolean {
  const [older, newer] = freshEvents(stage, schedule).map((event) => {
    const found = stage.maker.source.identify(asDelivery(signedDelivery(stage.maker, event)))
    return found.ok ? JSON.stringify(found.version ?? found.occurredAtMs ?? null) : 'null'
  })
  return older !== newer
}
