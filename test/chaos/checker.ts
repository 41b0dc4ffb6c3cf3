import type pg from 'pg'
import { CHECKS, COUNTS, LOST, violationsOf } from './checks.ts'
import { storyOf } from './event-story.ts'
import type { World } from './world.ts'

export interface Verdict {
  /** The violations of promises, one per line. Empty: there is none. */
  readonly wrong: readonly string[]
  /** The complete stories of a few of the events concerned. */
  readonly stories: readonly string[]
  /** Acknowledged events that failovers to an asynchronous standby lost. */
  readonly lostEvents: number
  /** How the deliveries were answered. */
  readonly counts: string
}

/** The number of events that a line names, and the number of events whose story is told. */
const FEW = 5
const STORIES = 3
/** More events with the same fault add no information. */
const MOST = 10_000

interface Found {
  readonly event: number | null
  readonly text: string
}

export async function judge({ pool, history, deaths }: World): Promise<Verdict> {
  await history.load(pool)
  const wrong = deaths.slice(0, FEW).map((text) => `a process failed by itself (${text})`)
  const concerned = new Set<number>()
  for (const check of CHECKS) {
    const { fault } = check
    const found = await findings(pool, violationsOf(check))
    if (found.length === 0) continue
    const more = found.length > FEW ? ` and ${found.length - FEW} more` : ''
    const named = found.slice(0, FEW).map(({ event, text }) => `event ${event}: ${text}`)
    wrong.push(`${fault} (${named.join('; ')}${more})`)
    const [first] = found
    if (first?.event) concerned.add(first.event)
  }
  const stories: string[] = []
  for (const event of [...concerned].slice(0, STORIES)) stories.push(await storyOf(pool, event))
  const { rows } = await pool.query<{ events: number }>(LOST)
  const counts = await pool.query<{ text: string }>(COUNTS)
  return { wrong, stories, lostEvents: rows[0]?.events ?? 0, counts: counts.rows[0]?.text ?? '' }
}

async function findings(pool: pg.Pool, query: string): Promise<Found[]> {
  const { rows } = await pool.query<Found>(
    `select event, text from (${query}) f order by event limit ${MOST}`,
  )
  return rows
}
