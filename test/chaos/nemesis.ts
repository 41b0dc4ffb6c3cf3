import { setTimeout as delay } from 'node:timers/promises'
import type { Reply } from '../support/downstream.ts'
import type { Random } from './random.ts'
import type { ChaosApp, World } from './world.ts'

/* What goes wrong, one fault after the other. Each of them is healed before its promise resolves. */
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
  /** For longer than its lease. */
  async freeze(app: ChaosApp) {
    app.freeze()
    await delay(2_500)
    app.thaw()
  },
  /** The database hears it, and it does not hear the database. */
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
  /** As a power cut: nothing is flushed. */
  async crashDatabase(_: ChaosApp, { world }: Circumstances) {
    world.cluster.stop()
    world.cluster.start()
  },
  async slowDownstream(_: ChaosApp, { world, random }: Circumstances) {
    const path = `/${random.pick(['keyed', 'once'])}/evt_${random.below(200) + 1}`
    world.downstream.reply(
      path,
      random.pick<Reply>([500, 'hang', 'cut']),
      random.pick<Reply>([503, 'cut', 200]),
    )
  },
} as const

interface Circumstances {
  readonly world: World
  readonly random: Random
}

type FaultName = keyof typeof FAULTS
const faultNames = Object.keys(FAULTS) as FaultName[]

/** Causes faults, one after the other. `done` grows as it goes on. */
export async function nemesis(
  { world, random }: Circumstances,
  { faults, done }: { readonly faults: number; readonly done: string[] },
): Promise<void> {
  while (done.length < faults) {
    // Every kind has its turn first.
    const name = faultNames[done.length] ?? random.pick(faultNames)
    const app = random.pick(world.apps)
    await FAULTS[name](app, { world, random })
    done.push(`${name} ${app.name}`)
    await delay(random.below(300))
  }
}
