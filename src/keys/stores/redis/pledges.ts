import type { KeyId, KeyPledges } from '../../store.ts'
import type { ScriptRunner } from './client.ts'
import { plainScript } from './scripts.ts'

/*
 * A pledge is a string beside its record. Its id is also in a sorted set per name, ordered by due
 * time. In a cluster the two may be on different nodes, so they cannot be written atomically. The
 * string is therefore written first and deleted last, and an id without a string is ignored.
 */
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`
const scripts = {
  put: plainScript(`redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])`),
  schedule: plainScript(`${NOW}redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])`),
  lease: plainScript(`${NOW}
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
for _, id in ipairs(due) do redis.call('ZADD', KEYS[1], now + ARGV[2], id) end
return due
`),
  get: plainScript(`return redis.call('GET', KEYS[1])`),
  unschedule: plainScript(`redis.call('ZREM', KEYS[1], ARGV[1])`),
  forget: plainScript(`redis.call('DEL', KEYS[1])`),
}

export function redisPledges(runner: () => Promise<ScriptRunner>, prefix: string): KeyPledges {
  const pledgeOf = (id: KeyId): string => `${prefix}{${id}}:pledge`
  const scheduleOf = (name: string): string => `${prefix}pledges:${name}`

  async function call(
    name: keyof typeof scripts,
    key: string,
    ...args: (string | number | Uint8Array)[]
  ): Promise<unknown> {
    const { run } = await runner()
    return run(
      scripts[name],
      [key],
      args.map((arg) => (typeof arg === 'object' ? Buffer.from(arg) : String(arg))),
    )
  }

  return {
    async save(id, { name, bytes }, { dueMs, ttlMs }) {
      await call('put', pledgeOf(id), bytes, ttlMs)
      await call('schedule', scheduleOf(name), id, dueMs)
    },
    async due(name, limit, leaseMs) {
      const leased = await call('lease', scheduleOf(name), limit, leaseMs)
      const ids = Array.isArray(leased) ? leased.map(String) : []
      const found = await Promise.all(
        ids.map(async (id) => {
          const bytes = await call('get', pledgeOf(id))
          if (Buffer.isBuffer(bytes)) return [{ id, bytes }]
          await call('unschedule', scheduleOf(name), id)
          return []
        }),
      )
      return found.flat()
    },
    async drop(id, name) {
      await call('unschedule', scheduleOf(name), id)
      await call('forget', pledgeOf(id))
    },
  }
}
