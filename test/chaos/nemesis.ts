import { setTimeout as delay } from 'node:timers/promises'
import { pruneReceipts } from '../../src/upkeep/prune-receipts.ts'
import type { Reply } from '../support/downstream.ts'
import { until } from '../support/until.ts'
import { KEY_DAYS } from './ledger-clock.ts'
import type { Pace } from './pace.ts'
import { DECISION, moveRenamed } from './person.ts'
import { type Random, randomOf } from './random.ts'
import type { ChaosApp, World } from './world.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** The database may be down meanwhile. */
const MOVE_MS = 60_000

/** Enough events that keys expire of some that are delivered again. */
const SOME_EVENTS = 20

interface Circumstances {
  readonly world: World
  readonly random: Random
}

/** The time from which acknowledged events may be lost, and the time until which they were sent. */
interface Loss {
  readonly from_ms: number
  readonly to_ms: number
}

/* What goes wrong. Each of them is healed before its promise resolves. */
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
    await delay(2_000)
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
  /** The database has lost the connections, and the process does not know. */
  async halfOpen(app: ChaosApp) {
    app.network.halfOpen()
    await delay(600)
    app.network.cut()
  },
  async slowNetwork(app: ChaosApp, { random }: Circumstances) {
    app.network.slow(random.pick([5, 40, 250]))
    await delay(1_000)
    app.network.slow(0)
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
   * Moves the clocks of both sides of a delivery and of the ledger. Old events are sent again, and
   * bodies expire. The clocks of the processes go back later, that of the ledger never does.
   */
  async daysPass(_: ChaosApp, { world, random }: Circumstances) {
    await pass(world, 1 + random.below(20))
  },
  /** Later than any provider retries. Events whose keys expired are new again. */
  async keysExpire(_: ChaosApp, { world }: Circumstances) {
    await until('there are events', () => world.recorded >= SOME_EVENTS, MOVE_MS).catch(() => undefined)
    await pass(world, KEY_DAYS + 1)
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
    // The lease of a process that was killed may not have ended: then its subscribers count as served.
    await until(
      'the jobs are moved',
      () =>
        moveRenamed(world).then(
          () => true,
          () => undefined,
        ),
      MOVE_MS,
    )
  },
  /** Fills the disk of the database servers: no file can grow. */
  async fillDisk(_: ChaosApp, { world }: Circumstances) {
    world.database.disk?.fill()
    await delay(1_000)
    world.database.disk?.free()
    await world.database.heal()
  },
  async failOver(_: ChaosApp, { world, random }: Circumstances): Promise<Loss | undefined> {
    const { database, history } = world
    const { silentFromMs, deadAtMs } = await database.failOver(random.below(600), history.now)
    return database.standby === 'asynchronous' ? { from_ms: silentFromMs, to_ms: deadAtMs } : undefined
  },
} as const

async function pass(world: World, days: number): Promise<void> {
  const { apps, person } = world
  await Promise.all(apps.map((app) => app.setClock(days * DAY_MS)))
  world.sendersAheadMs = days * DAY_MS
  await world.clock.pass(days)
  const redelivered = delay(1_000)
  // The workers prune once per minute. Here it happens while the events arrive again.
  await person
    .ledger()
    .then(pruneReceipts)
    .catch(() => undefined)
  await redelivered
  world.sendersAheadMs = 0
  await Promise.all(apps.map((app) => app.setClock(0)))
}

export type FaultName = keyof typeof FAULTS
const faultNames = Object.keys(FAULTS) as FaultName[]

/** What a fault strikes, if not one process alone. Two faults at once strike different things. */
const STRIKES: Partial<Record<FaultName, 'all processes' | 'the database' | 'the other side'>> = {
  crashDatabase: 'the database',
  fillDisk: 'the database',
  failOver: 'the database',
  slowDownstream: 'the other side',
  daysPass: 'all processes',
  keysExpire: 'all processes',
  rename: 'all processes',
}

interface Strike {
  readonly name: FaultName
  readonly app: ChaosApp
}

function areApart(a: Strike, b: Strike): boolean {
  const [first, second] = [STRIKES[a.name], STRIKES[b.name]]
  if (first === undefined && second === undefined) return a.app !== b.app
  const isOfProcesses = (place: string | undefined) => place === undefined || place === 'all processes'
  return isOfProcesses(first) && isOfProcesses(second) ? false : first !== second
}

/** What cannot happen here, with the reason. */
export function leftOut({ database: { disk, standby } }: World): Partial<Record<FaultName, string>> {
  return {
    ...(disk ? {} : { fillDisk: 'mounting a file system is not allowed' }),
    ...(standby === 'none' ? { failOver: 'there is no standby' } : {}),
  }
}

interface Campaign {
  readonly seed: number
  /** Undefined: all. */
  readonly only?: readonly string[] | undefined
  readonly pace: Pace
}

/** A second fault begins so much later at most, while the first is not healed. */
const SECOND_MS = 600

/** The calm between two faults is this long at most, while deliveries are behind. */
const CALM_MS = 2_000

/** Causes faults, one after the other and sometimes two at once, until the run is over. */
export async function nemesis(world: World, { seed, only, pace }: Campaign): Promise<void> {
  const random = randomOf(seed)
  const missing = leftOut(world)
  const possible = faultNames.filter((name) => !(name in missing) && (only?.includes(name) ?? true))
  if (possible.length === 0) throw new Error(`no such fault; there are: ${faultNames.join(', ')}`)
  let count = 0
  // Every kind has its turn first. Keys expire only once, at the beginning: afterwards, fewer rules
  // hold for the earlier events.
  const repeated = possible.filter((name) => name !== 'keysExpire')
  const turns: FaultName[] = [
    ...random.shuffled(repeated),
    ...possible.filter((name) => name === 'keysExpire'),
  ]
  const next = (): Strike => ({
    name: turns.pop() ?? random.pick(repeated.length > 0 ? repeated : possible),
    app: random.pick(world.apps),
  })

  async function strike({ name, app }: Strike): Promise<void> {
    const { history } = world
    count += 1
    const circumstances = { world, random: randomOf(seed + count) }
    const fromMs = history.now()
    const end = pace.begin(`${name} ${app.name}`)
    const loss = await FAULTS[name](app, circumstances)
    history.add('fault', { name, detail: app.name, from_ms: fromMs, to_ms: history.now(), loss: false })
    if (loss) history.add('fault', { name: 'lost commits', detail: name, ...loss, loss: true })
    end()
  }

  while (!pace.isOver()) {
    const first = next()
    const second = random.below(2) === 0 ? next() : undefined
    const striking = strike(first)
    if (second && areApart(first, second)) {
      await delay(random.below(SECOND_MS))
      await Promise.all([striking, strike(second)])
    } else {
      await striking
      if (second) await strike(second)
    }
    await someTraffic(world)
    await until('the deliveries caught up', () => !pace.isBehind(), CALM_MS).catch(() => undefined)
    await delay(random.below(200))
  }
}

/** A fault does the most harm while there is work in progress. */
async function someTraffic(world: World): Promise<void> {
  const before = world.recorded
  await until('an event is recorded', () => world.recorded > before, 1_000).catch(() => undefined)
}
