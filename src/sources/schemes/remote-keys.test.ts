import { createSecretKey, type KeyObject } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { BadStatus } from './fetch-text.ts'
import { remoteKeys } from './remote-keys.ts'

/* The provider has the keys in `published`. Every other name is invented. */

const DAY_MS = 24 * 3_600_000
const KEY = createSecretKey(Buffer.from('k'))

function world(published: Set<string>, keyNames: readonly string[] = []) {
  const fetched: string[] = []
  const keys = remoteKeys(async (name): Promise<KeyObject> => {
    fetched.push(name)
    if (published.has(name)) return KEY
    throw name === 'down' ? new Error('no route') : new BadStatus(404)
  }, keyNames)
  let invented = 0
  return {
    keys,
    fetched,
    /** Requests this many unknown names. */
    async flood(names: number, nowMs: number): Promise<void> {
      for (let count = 0; count < names; count++) await keys.need(`bogus-${++invented}`, nowMs)
    },
  }
}

describe('fetched keys', () => {
  it('are fetched for a known name, even while strangers send many other names', async () => {
    const published = new Set(['genuine'])
    const { keys, flood } = world(published)
    expect(await keys.need('genuine', 0)).toBeUndefined()
    // The key is removed temporarily, as when the provider's server fails: the name keeps its
    // priority.
    published.clear()
    await flood(40, DAY_MS)
    expect(await keys.need('genuine', DAY_MS)).toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(keys.get('genuine')).toBeUndefined()
    published.add('genuine')
    await flood(40, DAY_MS + 6_000)
    expect(await keys.need('genuine', DAY_MS + 6_000)).toBeUndefined()
    expect(keys.get('genuine')).toBe(KEY)
  })

  it('are fetched for a configured name from the first delivery on', async () => {
    const { keys, flood } = world(new Set(['configured']), ['configured'])
    await flood(40, 0)
    expect(await keys.need('configured', 0)).toBeUndefined()
    expect(keys.get('configured')).toBe(KEY)
  })

  it('are fetched for a name that is repeated, even while strangers invent new names', async () => {
    const { keys, flood } = world(new Set(['genuine']))
    await flood(40, 0)
    expect(await keys.need('genuine', 0)).toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    await flood(40, 1_000)
    // The sender retries the same name. Strangers would have to repeat their names.
    expect(await keys.need('genuine', 1_000)).toBeUndefined()
  })

  it('are not fetched again at once for a name that has no key', async () => {
    const { keys, fetched } = world(new Set(['genuine']))
    for (let count = 0; count < 40; count++)
      expect(await keys.need('bogus', count * 1_000)).toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(fetched).toEqual(['bogus'])
    expect(await keys.need('genuine', 40_000)).toBeUndefined()
    await keys.need('bogus', 61_000)
    expect(fetched).toEqual(['bogus', 'genuine', 'bogus'])
  })

  it('are fetched again soon if the fetch failed', async () => {
    const { keys, fetched } = world(new Set())
    for (const nowMs of [0, 4_000, 5_000]) await keys.need('down', nowMs)
    expect(fetched).toEqual(['down', 'down'])
  })

  it('cost a limited number of fetches per minute, even if names are repeated', async () => {
    const { keys, fetched } = world(new Set())
    const names = Array.from({ length: 400 }, (_, at) => `bogus-${at}`)
    for (const nowMs of [0, 10_000, 20_000, 30_000]) for (const name of names) await keys.need(name, nowMs)
    expect(fetched.length).toBeLessThanOrEqual(24)
  })
})
