import type pg from 'pg'
import { rssKibOf } from '../fuzz/process-watch.ts'

/** The values that are measured once per second during a load. */
export interface Sample {
  readonly atMs: number
  readonly rssMib: number
  /** Age of the oldest due job, in seconds. */
  readonly lagSeconds: number
}

const LAG = `select coalesce(extract(epoch from now() - min(due_at)), 0)::float8 as lag
  from hookonce.job where state in ('received', 'retrying') and due_at <= now()`

export async function lagOf(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ lag: number }>(LAG)
  return rows[0]?.lag ?? 0
}

export interface Sampler {
  readonly samples: readonly Sample[]
  stop(): Promise<void>
}

export function sampling(pid: number, pool: pg.Pool): Sampler {
  const samples: Sample[] = []
  const startedAt = performance.now()
  let last: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    last = last.then(async () => {
      const lagSeconds = await lagOf(pool)
      samples.push({ atMs: performance.now() - startedAt, rssMib: rssKibOf(pid) / 1_024, lagSeconds })
    })
  }, 1_000)
  return {
    samples,
    async stop() {
      clearInterval(timer)
      await last
    },
  }
}

export interface Figures {
  /** Mean of the first, middle and last fifth of the samples. */
  readonly rssMib: readonly [start: number, middle: number, end: number]
  readonly medianLagSeconds: number
  readonly maxLagSeconds: number
}

export function figuresOf(samples: readonly Sample[]): Figures {
  const fifth = Math.max(1, Math.floor(samples.length / 5))
  const mean = (part: readonly Sample[]): number =>
    Math.round(part.reduce((sum, { rssMib }) => sum + rssMib, 0) / Math.max(1, part.length))
  const middle = Math.floor((samples.length - fifth) / 2)
  const lags = samples.map(({ lagSeconds }) => lagSeconds).sort((a, b) => a - b)
  return {
    rssMib: [
      mean(samples.slice(0, fifth)),
      mean(samples.slice(middle, middle + fifth)),
      mean(samples.slice(-fifth)),
    ],
    medianLagSeconds: lags[Math.floor(lags.length / 2)] ?? 0,
    maxLagSeconds: lags.at(-1) ?? 0,
  }
}
