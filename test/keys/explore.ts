import {
  type AcquireRequest,
  decideAcquire,
  decideExtend,
  decideSettle,
  type KeyRecord,
} from '../../src/keys/index.ts'

/*
 * Explores the protocol exhaustively: every interleaving of actors that use one key. Each actor may
 * crash or be delayed before each of its steps, and time may pass at any moment: past the lock,
 * past the record (which may then be swept or not). It explores states over the decision functions
 * themselves, and reports the broken rule with its steps.
 */
export interface Protocol {
  readonly acquire: typeof decideAcquire
  readonly settle: typeof decideSettle
  readonly extend: typeof decideExtend
}

export const protocol: Protocol = { acquire: decideAcquire, settle: decideSettle, extend: decideExtend }

export interface World {
  readonly actors: number
  /**
   * `commit`: the effect happens with the completion, as in a transaction. `before`: it happens
   * outside, before the completion.
   */
  readonly effect: 'commit' | 'before'
  readonly onCrash: AcquireRequest['onCrash']
}

type At = 'acquire' | 'extend' | 'effect' | 'settle' | 'settle again' | 'end' | 'crashed'

interface Actor {
  readonly at: At
  readonly fence: number
  /** How often the key had expired when it was acquired. */
  readonly life: number
  /** The reply to its acquisition was lost. Once is enough: a second loss is like the first. */
  readonly unheard: boolean
  /** The actor whose result it got. */
  readonly told: string | undefined
}

interface Effect {
  readonly who: number
  readonly life: number
}

interface State {
  readonly now: number
  readonly record: KeyRecord | undefined
  readonly actors: readonly Actor[]
  readonly effects: readonly Effect[]
  readonly expiries: number
  readonly violation: string | undefined
}

export interface Explored {
  readonly states: number
  /** The first broken rule, with the steps that led there. */
  readonly broken: { readonly rule: string; readonly steps: readonly string[] } | undefined
}

const LOCK_MS = 10
const TTL_MS = 100

export function explore(world: World, { acquire, settle, extend }: Protocol): Explored {
  const start: State = {
    now: 1_000,
    record: undefined,
    actors: Array.from({ length: world.actors }, () => ({
      at: 'acquire',
      fence: 0,
      life: 0,
      unheard: false,
      told: undefined,
    })),
    effects: [],
    expiries: 0,
    violation: undefined,
  }
  const seen = new Set<string>()
  const pending: { state: State; path: Path | undefined }[] = [{ state: start, path: undefined }]
  for (let next = pending.pop(); next; next = pending.pop()) {
    for (const { step, state } of moves(next.state)) {
      const path = { step, before: next.path }
      const rule = brokenRule(next.state, state)
      if (rule) return { states: seen.size, broken: { rule, steps: stepsOf(path) } }
      const name = nameOf(state)
      if (seen.has(name)) continue
      seen.add(name)
      pending.push({ state, path })
    }
  }
  return { states: seen.size, broken: undefined }

  function moves(state: State): { step: string; state: State }[] {
    const all = state.actors.flatMap((actor, who) => {
      if (actor.at === 'end' || actor.at === 'crashed') return []
      const steps = [
        { step: `${who}: ${actor.at}`, state: advance(state, who, actor, 'completed') },
        { step: `${who}: crash`, state: withActor(state, who, { ...actor, at: 'crashed' }) },
      ]
      // It happened, but its reply was lost: the same holder requests it again.
      if (actor.at === 'acquire' && !actor.unheard) {
        const { record } = advance(state, who, actor, 'completed')
        const unheard = withActor({ ...state, record }, who, { ...actor, unheard: true })
        steps.push({ step: `${who}: acquire, reply lost`, state: unheard })
      }
      if (actor.at === 'settle' && world.effect === 'commit')
        steps.push({ step: `${who}: fail`, state: advance(state, who, actor, 'released') })
      return steps
    })
    if (state.record?.state === 'unknown') all.push(...findOut(state, state.record))
    if (state.record?.state === 'locked' && state.record.lockUntil > state.now)
      all.push({ step: 'the lock runs out', state: { ...state, now: state.record.lockUntil } })
    // Once is enough: the second life of a key is like the first.
    if (state.record && state.expiries === 0) {
      const expired = { ...state, now: Math.max(state.now, state.record.expiresAt), expiries: 1 }
      all.push({ step: 'the record expires', state: expired })
      all.push({ step: 'the record is swept', state: { ...expired, record: undefined } })
    }
    return all
  }

  /** A person who has checked that the run has ended decides its outcome. */
  function findOut(state: State, record: KeyRecord): { step: string; state: State }[] {
    const who = Number(record.holder)
    const at = state.actors[who]?.at
    if (at !== 'crashed' && at !== 'end') return []
    const happened = state.effects.some((effect) => effect.who === who && effect.life === state.expiries)
    const to = happened ? 'completed' : 'released'
    const settlement = { to, result: Buffer.from(record.holder), ttlMs: TTL_MS } as const
    const next = settle(record, record.fence, settlement, state.now)
    return [{ step: `a person says ${to}`, state: { ...state, record: next ?? record } }]
  }

  function advance(state: State, who: number, actor: Actor, to: 'completed' | 'released'): State {
    const { record, now } = state
    switch (actor.at) {
      case 'acquire': {
        const request: AcquireRequest = {
          fingerprint: 'same',
          holder: String(who),
          lockMs: LOCK_MS,
          ttlMs: TTL_MS,
          onCrash: world.onCrash,
        }
        const decision = acquire(record, request, now)
        const after: State = { ...state, record: decision.record }
        if (decision.outcome === 'acquired')
          return withActor(after, who, {
            ...actor,
            at: 'extend',
            fence: decision.record.fence,
            life: state.expiries,
          })
        const told = decision.outcome === 'completed' ? textOf(decision.record) : undefined
        return withActor(after, who, { ...actor, at: 'end', told })
      }
      case 'extend': {
        const next = extend(record, actor.fence, { lockMs: LOCK_MS, ttlMs: TTL_MS }, now)
        // A handler cannot be stopped: it continues, whatever its heartbeat reports.
        return withActor({ ...state, record: next ?? record }, who, { ...actor, at: 'effect' })
      }
      case 'effect': {
        const effects =
          world.effect === 'before' ? [...state.effects, { who, life: actor.life }] : state.effects
        return withActor({ ...state, effects }, who, { ...actor, at: 'settle' })
      }
      default: {
        const settlement = { to, result: Buffer.from(String(who)), ttlMs: TTL_MS }
        const next = settle(record, actor.fence, settlement, now)
        const commits = next !== undefined && to === 'completed' && world.effect === 'commit'
        const isOthers = next !== undefined && record?.holder !== String(who)
        const after = {
          ...state,
          record: next ?? record,
          effects: commits ? [...state.effects, { who, life: actor.life }] : state.effects,
          violation: isOthers ? 'a run settled what another one holds' : undefined,
        }
        if (to === 'released') return withActor(after, who, { ...actor, at: 'end' })
        // The reply to the first request may be lost, so it is requested twice.
        return withActor(after, who, { ...actor, at: actor.at === 'settle' ? 'settle again' : 'end' })
      }
    }
  }
}

/** The rules that must always hold. */
function brokenRule(before: State, after: State): string | undefined {
  const [was, is] = [before.record, after.record]
  if (after.violation) return after.violation
  if (new Set(after.effects.map(({ life }) => life)).size < after.effects.length)
    return 'it took effect twice'
  if (was && is && is.fence < was.fence) return 'a fence went back'
  if (was?.state === 'completed' && was.expiresAt > after.now && textOf(was) !== textOf(is))
    return 'a kept result was overwritten'
  const told = after.actors.find(({ told }, who) => told !== before.actors[who]?.told)?.told
  if (told !== undefined && !after.effects.some(({ who }) => String(who) === told))
    return 'a result was replayed that took no effect'
  return undefined
}

function textOf(record: KeyRecord | undefined): string {
  return Buffer.from(record?.result ?? []).toString()
}

/** States that differ only in when they happen are the same: only differences of time decide. */
function nameOf({ now, record, actors, effects, expiries }: State): string {
  const times = record && [
    record.fence - now,
    Math.max(record.lockUntil - now, 0),
    Math.max(record.expiresAt - now, 0),
    record.state,
    record.holder,
    record.after,
    textOf(record),
  ]
  const people = actors.map(({ at, fence, life, unheard }) => {
    if (at === 'acquire') return [at, unheard]
    // For a finished actor, nothing else affects what can still happen.
    return at === 'end' || at === 'crashed' ? at : [at, fence - now, life]
  })
  return JSON.stringify([times, people, effects, expiries])
}

interface Path {
  readonly step: string
  readonly before: Path | undefined
}

function stepsOf(path: Path | undefined): string[] {
  return path ? [...stepsOf(path.before), path.step] : []
}

function withActor(state: State, who: number, actor: Actor): State {
  return { ...state, actors: state.actors.with(who, actor) }
}
