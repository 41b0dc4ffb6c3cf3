import type { Downstream } from './downstream.ts'

/** The database and the called service, at the end of a run. */
export interface Evidence {
  readonly downstream: Downstream
  rows<Row>(text: string): Promise<Row[]>
}

/** Returns the fault at the end of a run. Undefined if there is none. */
type Oracle = (evidence: Evidence) => Promise<string | undefined>

const PATHS = ['/shared', '/own']

/** In every mode: every job was processed, and no effect is unfinished. */
async function unfinished({ rows }: Evidence): Promise<string | undefined> {
  const jobs = await rows<{ state: string; reason: string }>(
    `select state::text, reason from hookonce.job where state <> 'processed'`,
  )
  if (jobs.length > 0) return `jobs are not processed: ${JSON.stringify(jobs)}`
  const effects = await rows<{ key: string }>(
    `select key, epoch, state::text from hookonce.effect e
     where state in ('started', 'unknown') and epoch = (select max(epoch) from hookonce.effect where id = e.id)`,
  )
  return effects.length > 0 ? `effects are not ended: ${JSON.stringify(effects)}` : undefined
}

function external(check: (calls: number, acted: number, keys: number) => string | undefined): Oracle {
  return async (evidence) => {
    const left = await unfinished(evidence)
    if (left !== undefined) return left
    for (const path of PATHS) {
      const calls = evidence.downstream.calls.filter((call) => call.path === path)
      const keys = new Set(calls.map(({ key }) => key)).size
      const fault = check(calls.length, evidence.downstream.acted(path), keys)
      if (fault !== undefined) return `${path}: ${fault} (${calls.length} calls, ${keys} keys)`
    }
    return undefined
  }
}

/** For any number of calls: all have one key, with which the called service acted once. */
const byKey: Oracle = external((_, acted, keys) => {
  if (keys !== 1) return 'more than one key was handed on'
  return acted === 1 ? undefined : `the other side acted ${acted} times`
})

function rowsAre(text: string, expected: unknown): Oracle {
  return async (evidence) => {
    const left = await unfinished(evidence)
    if (left !== undefined) return left
    const found = JSON.stringify(await evidence.rows(text))
    return found === JSON.stringify(expected) ? undefined : `the business rows are ${found}`
  }
}

const ONE_ROW_AN_EVENT = rowsAre('select type, count(*)::int from effect group by type order by type', [
  { type: 'evt_1', count: 1 },
  { type: 'evt_2', count: 1 },
  { type: 'evt_3', count: 1 },
])

export const oracles = {
  keyed: byKey,
  // Every unknown effect was decided by its true outcome, so it happened once. No key was used
  // twice.
  atMostOnce: external((calls, acted, keys) => {
    if (acted !== 1) return `the other side acted ${acted} times`
    return calls === keys ? undefined : 'a key was used for more than one call'
  }),
  reconcile: byKey,
  atLeastOnce: external((calls) => (calls >= 1 ? undefined : 'it was never called')),
  step: async (evidence) => {
    const left = await unfinished(evidence)
    if (left !== undefined) return left
    const acted = ['/evt_1', '/evt_2', '/evt_3'].map((path) => evidence.downstream.acted(path))
    const steps = await evidence.rows('select from hookonce.step')
    if (steps.length !== 3) return `${steps.length} steps are recorded`
    return acted.every((count) => count === 1) ? undefined : `the other side acted ${acted.join(', ')} times`
  },
  tx: rowsAre('select type, count(*)::int from effect group by type order by type', [
    { type: 'own', count: 1 },
    { type: 'shared', count: 1 },
  ]),
  last: ONE_ROW_AN_EVENT,
  // In the order of their commits, versions never decrease, each is applied at most once, and the
  // last one is applied.
  latest: async (evidence) => {
    const left = await unfinished(evidence)
    if (left !== undefined) return left
    const applied = await evidence.rows<{ entity: string; version: number }>(
      'select entity, version from applied order by entity, version, at',
    )
    const all = applied.map(({ entity, version }) => `${entity} ${version}`)
    const known = [
      ['own 1', 'shared 1', 'shared 2'],
      ['own 1', 'shared 2'],
    ]
    const isRight = known.some((right) => right.join() === all.join())
    return isRight ? undefined : `the applied versions are ${all.join(', ')}`
  },
  write: ONE_ROW_AN_EVENT,
} satisfies Readonly<Record<string, Oracle>>
