import { setTimeout as delay } from 'node:timers/promises'
import type { Reply } from '../support/downstream.ts'
import { until } from '../support/until.ts'
import { DECISION, moveRenamed } from './person.ts'
import type { Random } from './random.ts'
import type { ChaosApp, World } from './world.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

interface Circumstances {
  readonly world: World
  readonly random: Random
}

/** The time from which acknowledged events may be lost, and the time until which they were sent. */
interface Loss {
  readonly from_ms: number
  readonly to_ms: number
}

/* Causes faults, one after the other. Each fault is healed before its promise resolves. */
const FAULTS = {
  async kill(app: ChaosApp) {
    app.kill()
    await delay(100)
    await app.start()
  },
  async restart(app: ChaosApp) {
    await app.stop()
    await app.start()
  },
  /** A freeze for longer than its lease. */
  async freeze(app: ChaosApp) {
    app.freeze()
    await delay(2_500)
    app.thaw()
  },
  /** The database receives data from the process, but the process receives nothing. */
  async loseReplies(app: ChaosApp, { random }: Circumstances) {
    app.network.loseRepliesTo(random.pick(['accept', 'complete', 'end_effect', 'start_effect', 'claim']))
    await delay(800)
    app.network.cut()
  },
  async partition(app: ChaosApp) {
    app.network.swallow()
    await delay(600)
    app.network.cut()
  },
  async cut(app: ChaosApp) {
    app.network.cut()
  },
  async unreachable(app: ChaosApp) {
    app.network.refuse(true)
    await delay(700)
    app.network.refuse(false)
  },
  async crashDatabase(_: ChaosApp, { world }: Circumstances) {
    await world.database.crash()
  },
  async slowDownstream(_: ChaosApp, { world, random }: Circumstances) {
    for (let calls = 0; calls < 5; calls += 1) {
      const path = `/${random.pick(['keyed', 'once'])}/${world.newest + 1 + random.below(20)}`
      const replies = [random.pick<Reply>([500, 'hang', 'cut']), random.pick<Reply>([503, 'cut', 200])]
      world.downstream.reply(path, ...replies)
    }
  },
  /** Deliveries to this process are refused, unless the step is small. Nothing else may change. */
  async stepClock(app: ChaosApp, { random }: Circumstances) {
    await app.setClock(random.pick([-30 * DAY_MS, -DAY_MS, -MINUTE_MS, MINUTE_MS, DAY_MS, 400 * DAY_MS]))
    await delay(1_000)
    await app.setClock(0)
  },
  /**
   * Moves the clocks of both sides of a delivery, but not of the database. Old events are sent
   * again.
   */
  async daysPass(_: ChaosApp, { world, random }: Circumstances) {
    const days = 1 + random.below(20)
    await Promise.all(world.apps.map((app) => app.setClock(days * DAY_MS)))
    world.sendersAheadMs = days * DAY_MS
    await delay(1_000)
    world.sendersAheadMs = 0
    await Promise.all(world.apps.map((app) => app.setClock(0)))
  },
  /** A deploy renames a subscriber, while jobs wait under the old name. */
  async rename(_: ChaosApp, { world }: Circumstances) {
    const before = world.renamed
    world.renamed = `renamed ${Number(before.split(' ')[1]) + 1}`
    await world.person.pause('test', before, DECISION).catch(() => undefined)
    for (const app of world.apps) {
      await app.stop()
      await app.start()
    }
    // The lease of a killed process may not have ended, so its subscribers still count as served.
    await until('the jobs are moved', () =>
      moveRenamed(world).then(
        () => true,
        () => undefined,
      ),
    )
  },
  /** Fills the disk of the database servers: no file can grow. */
  async fillDisk(_: ChaosApp, { world }: Circumstances) {
    world.database.disk?.fill()
    await delay(1_500)
    world.database.disk?.free()
    await world.database.heal()
  },
  async failOver(_: ChaosApp, { world, random }: Circumstances): Promise<Loss | undefined> {
    const { database, history } = world
    const { silentFromMs, deadAtMs } = await database.failOver(random.below(600), history.now)
    return database.standby === 'asynchronous' ? { from_ms: silentFromMs, to_ms: deadAtMs } : undefined
  },
} as const

export type FaultName = keyof typeof FAULTS
const faultNames = Object.keys(FAULTS) as FaultName[]

/** Faults that cannot happen on this machine, with the reason. */
export function leftOut({ database: { disk, standby } }: World): Partial<Record<FaultName, string>> {
  return {
    ...(disk ? {} : { fillDisk: 'mounting a file system is not allowed' }),
    ...(standby === 'none' ? { failOver: 'there is no standby' } : {}),
  }
}

interface Campaign {
  readonly faults: number
  /** Undefined: all faults. */
  readonly only?: readonly string[] | undefined
  /** After this, no new fault is caused. */
  readonly isOver: () => boolean
  /** Called after each fault. */
  readonly onDone: (count: number) => void
}

/** Causes faults, one after the other. */
export async function nemesis(
  { world, random }: Circumstances,
  { faults, only, isOver, onDone }: Campaign,
): Promise<void> {
  const missing = leftOut(world)
  const possible = faultNames.filter((name) => !(name in missing) && (only?.includes(name) ?? true))
  const names = random.shuffled(possible)
  if (names.length === 0) throw new Error(`no such fault; there are: ${faultNames.join(', ')}`)
  for (let done = 0; done < faults && !isOver(); ) {
    // Every kind of fault comes once before any repeats.
    const name = names[done] ?? random.pick(names)
    const app = random.pick(world.apps)
    const { history } = world
    const fromMs = history.now()
    const loss = await FAULTS[name](app, { world, random })
    history.add('fault', { name, detail: app.name, from_ms: fromMs, to_ms: history.now(), loss: false })
    if (loss) history.add('fault', { name: 'lost commits', detail: name, ...loss, loss: true })
    done += 1
    onDone(done)
    await someTraffic(world)
    await delay(random.below(300))
  }
}

/** A fault does the most harm while there is work in progress. */
async function someTraffic(world: World): Promise<void> {
  const before = world.acknowledged
  await until('an event is acknowledged', () => world.acknowledged > before, 1_500).catch(() => undefined)
}
