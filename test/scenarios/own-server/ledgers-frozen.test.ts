import { expect, onTestFinished, test } from 'vitest'
import { operatorsOf } from '../../../src/hookonce.ts'
import { reporting } from '../../../src/operate/across.ts'
import { listEvents } from '../../../src/operate/events.ts'
import type { TestDatabase } from '../../support/database.ts'
import { deliverTo, fleetHooks, PLACES, TENANTS } from '../../support/fleet.ts'
import { ownServer } from '../../support/own-server.ts'
import { until } from '../../support/until.ts'

/*
 * A server that hangs is worse than one that is down: connections stay open, and every statement
 * waits for its timeout of 20 s. Events of the other ledgers run one after the other here, each
 * until its row is committed. If one of them waited for the frozen server, the test would not end
 * in time.
 */
const ROUNDS = 60

function processed(db: TestDatabase, ledger: string): Promise<number> {
  return db.number(`select count(*) from ${ledger}.job where state = 'processed'`)
}

test.each([
  ['one of three servers', 'gamma', 12],
  ['one of three servers, with as many slots as ledgers', 'gamma', 3],
  ['the server of the home ledger', 'alpha', 12],
] as const)(
  '%s hangs under load: the others commit on',
  async (_, frozen, concurrency) => {
    const servers = await Promise.all(TENANTS.map(() => ownServer(['fsync=off'])))
    const [home, second, third] = servers
    if (!home || !second || !third) throw new Error('a server is missing')
    let release = (): void => undefined
    const end = new Promise<void>((resolve) => {
      release = resolve
    })
    onTestFinished(release)
    const hold = { isOn: false, end }
    const serverOf = { alpha: home, beta: second, gamma: third }
    const placement = { hookonce_1: second.db.url, hookonce_2: third.db.url }
    const make = () => {
      const ledgers = { count: 3, placement, tenants: PLACES }
      const hooks = fleetHooks(home.db, TENANTS, { ledgers, concurrency, leaseMs: 6_000 })
      for (const tenant of TENANTS)
        hooks.on(tenant, '*', async (event, ctx) => {
          ctx.write({ text: 'insert into effect (receipt_id) values ($1)', values: [event.receiptId] })
          // As a handler that waits for the frozen server does, it keeps its slot.
          if (tenant === frozen && hold.isOn) await hold.end
        })
      return hooks
    }
    const hooks = make()
    await hooks.start()
    const others = TENANTS.filter((tenant) => tenant !== frozen) as (keyof typeof PLACES)[]

    // Sixteen senders, so that runs and commits are in progress when the server hangs.
    const acknowledged = new Set<string>()
    let isSending = true
    let sent = 0
    const senders = Array.from({ length: 16 }, async () => {
      while (isSending) {
        const id = `load_${sent}`
        sent += 1
        if ((await deliverTo(hooks, frozen, id)) < 300) acknowledged.add(id)
        await new Promise(setImmediate)
      }
    })
    onTestFinished(() => {
      isSending = false
    })
    await until('its events are processed', () => processed(serverOf[frozen].db, PLACES[frozen]))
    hold.isOn = true
    const running = `select count(*) from ${PLACES[frozen]}.job where state = 'processing'`
    await until(
      'it runs all it may',
      async () => (await serverOf[frozen].db.number(running)) >= concurrency / 2,
    )
    serverOf[frozen].freeze()
    const before = acknowledged.size

    for (let round = 1; round <= ROUNDS; round += 1)
      for (const tenant of others) {
        expect(await deliverTo(hooks, tenant, `evt_${round}`)).toBe(202)
        const { db } = serverOf[tenant]
        await until(
          `${tenant} has processed ${round}`,
          async () => (await processed(db, PLACES[tenant])) === round,
        )
      }
    for (const tenant of others)
      expect(await serverOf[tenant].db.number('select count(distinct receipt_id) from effect')).toBe(ROUNDS)
    expect(await hooks.ready()).toBe(true)
    expect(await hooks.metrics()).toContain(`hookonce_ledger_up{ledger="${PLACES[frozen]}"} 0`)
    const down: string[] = []
    const { events } = await listEvents(
      reporting(await operatorsOf(hooks), (name) => down.push(name)),
      { limit: 500 },
    )
    expect(events).toHaveLength(2 * ROUNDS)
    expect(down).toEqual([PLACES[frozen]])
    // A process that starts meanwhile serves the others, too.
    const later = make()
    await later.start()
    for (const tenant of others) expect(await deliverTo(later, tenant, 'later')).toBe(202)
    // Replies that were on their way when the server was frozen.
    expect(acknowledged.size).toBeLessThanOrEqual(before + 16)

    hold.isOn = false
    release()
    serverOf[frozen].thaw()
    await until('it records again', () => acknowledged.size > before + 50)
    isSending = false
    await Promise.all(senders)
    const { db } = serverOf[frozen]
    const ledger = PLACES[frozen]
    await until(
      'all of it is processed',
      async () => {
        const open = `select count(*) from ${ledger}.job where state <> 'processed'`
        return (await db.number(open)) === 0
      },
      90_000,
    )
    const keys = await db.rows<{ event_key: string; times: number }>(
      `select event_key, count(e.receipt_id)::int as times from ${ledger}.receipt r
     left join effect e on e.receipt_id = r.id group by event_key`,
    )
    const recorded = new Set(keys.map(({ event_key }) => event_key))
    expect([...acknowledged].filter((id) => !recorded.has(id))).toEqual([])
    expect(keys.filter(({ times }) => times !== 1)).toEqual([])
  },
  240_000,
)
