import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import { type JobsOf, type JobView, readJobs } from '../ledger/testing/progress.ts'
import { HookonceError } from '../model/errors.ts'
import type { JobState } from '../model/job-state.ts'
import { textOfThrown } from '../model/thrown.ts'
import type { AttemptFact, CustomObserver, EffectFact } from '../observe/observer.ts'

/** Selects jobs. Every given value must match. */
export interface JobFilter extends JobsOf {
  /** The current state of the job, or a state that it was in before. */
  readonly state?: JobState
}

export interface WaitOptions {
  /** Real time without any progress. Default: 10 seconds. */
  readonly timeoutMs?: number
}

/** The reports of all processes of one test. */
export interface Journal {
  observer(isHeard: () => boolean): CustomObserver
  waitFor(filter: JobFilter, wait: WaitOptions): Promise<JobView>
  /** How often an effect was called, by any process. */
  effectCalls(key: string): number
  /** An error of the kit itself, outside any call of the test. */
  fail(error: unknown): void
  throwFailure(): void
  /** The number of reports. */
  readonly reports: number
  /** Resolves at the next report, or after a short time. */
  news(): Promise<unknown>
  /** The error of a timeout, with the current jobs and the latest errors. */
  timedOut(what: string): Promise<HookonceError>
}

export const WAIT_MS = 10_000
const LOOK_MS = 25
const MAX_TROUBLES = 5
/** The error of a timeout lists the newest jobs. */
const MAX_JOBS = 20
const OUTCOME_STATES: Readonly<Partial<Record<AttemptFact['outcome'], JobState>>> = {
  processed: 'processed',
  stale: 'processed',
  retrying: 'retrying',
  deferred: 'retrying',
  failed: 'failed',
  attention: 'attention',
}

export function journal(pool: Pool): Journal {
  const attempts: AttemptFact[] = []
  const effects: EffectFact[] = []
  const troubles: string[] = []
  const failures: unknown[] = []
  let reports = 0
  let ring: () => void = () => undefined
  let rung = nextRing()

  function nextRing(): Promise<void> {
    return new Promise((resolve) => {
      ring = resolve
    })
  }

  function note(): void {
    reports += 1
    ring()
    rung = nextRing()
  }

  function trouble(text: string): void {
    troubles.push(text)
    if (troubles.length > MAX_TROUBLES) troubles.shift()
    note()
  }

  async function find(filter: JobFilter): Promise<JobView | undefined> {
    const { state, ...rest } = filter
    const matching = await readJobs(pool, rest)
    const now = matching.find((job) => state === undefined || job.state === state)
    if (now || state === undefined) return now
    for (const job of matching) {
      const attempt = attemptBefore(job, state)
      if (attempt !== undefined) return { ...job, state, attempt }
    }
    return undefined
  }

  /** The attempt in which a job was in a state, if it was in it before. */
  function attemptBefore(job: JobView, state: JobState): number | undefined {
    if (state === 'received') return 0
    if (state === 'processing') return job.attempt > 0 ? job.attempt : undefined
    return attempts.find(
      (fact) =>
        OUTCOME_STATES[fact.outcome] === state &&
        fact.receiptId === job.receiptId &&
        fact.subscriber === job.subscriber,
    )?.attempt
  }

  async function timedOut(what: string): Promise<HookonceError> {
    const jobs = (await readJobs(pool)).map(
      ({ source, eventType, eventKey, subscriber, state, attempt, reason }) =>
        `  ${source} ${eventType} ${eventKey} → ${subscriber}: ${state}, attempt ${attempt}${reason ? `, ${reason}` : ''}`,
    )
    if (jobs.length > MAX_JOBS)
      jobs.splice(0, jobs.length - MAX_JOBS, `  ${jobs.length - MAX_JOBS} older jobs`)
    const seen = jobs.length > 0 ? `the jobs:\n${jobs.join('\n')}` : 'no event was recorded'
    const last = troubles.length > 0 ? `\nlast reports:\n  ${troubles.join('\n  ')}` : ''
    return new HookonceError('TEST_TIMED_OUT', `${what}; ${seen}${last}`)
  }

  const self: Journal = {
    observer: (isHeard) => ({
      attempt(fact) {
        if (!isHeard()) return
        attempts.push(fact)
        if (fact.error !== undefined)
          trouble(`${fact.subscriber}, attempt ${fact.attempt}: ${textOfThrown(fact.error)}`)
        note()
      },
      effectStarted(fact) {
        effects.push(fact)
        note()
      },
      delivery: (fact) => {
        if (isHeard() && fact.outcome === 'rejected')
          trouble(
            `a delivery was refused: ${fact.code ?? fact.status}${fact.detail ? `, ${fact.detail}` : ''}`,
          )
        note()
      },
      message: note,
      rescue: note,
      trouble(fact) {
        if (isHeard()) trouble(`${fact.doing}: ${textOfThrown(fact.error)}`)
      },
    }),
    async waitFor(filter, { timeoutMs = WAIT_MS }) {
      const end = performance.now() + timeoutMs
      for (;;) {
        self.throwFailure()
        const news = self.news()
        const found = await find(filter)
        if (found) return found
        if (performance.now() > end)
          throw await timedOut(`waited ${timeoutMs} ms for a job with ${JSON.stringify(filter)}`)
        await news
      }
    },
    effectCalls: (key) => effects.filter((effect) => effect.key === key).length,
    fail: (error) => void failures.push(error),
    throwFailure() {
      if (failures.length > 0) throw failures[0]
    },
    get reports() {
      return reports
    },
    news: () => Promise.race([rung, delay(LOOK_MS)]),
    timedOut,
  }
  return self
}
