import { expect, test } from 'vitest'
import { explore, type Protocol, protocol, type World } from './explore.ts'

const transactional: World = { actors: 3, effect: 'commit', onCrash: 'takeover' }
const opaque: World = { actors: 3, effect: 'before', onCrash: 'unknown' }

test.each([
  ['transactional handlers, locks taken over', transactional],
  ['opaque handlers, crashes left unknown', opaque],
])('every interleaving of three actors keeps every rule: %s', (_, world) => {
  const { states, broken } = explore(world, protocol)
  expect(broken).toBeUndefined()
  expect(states).toBeGreaterThan(1_000)
})

/** Faulty protocols of other libraries: the explorer must detect each. */
const mistakes: Record<string, { world: World; broken: Partial<Protocol> }> = {
  'a fence that is not looked at': {
    world: transactional,
    broken: {
      settle: (record, _fence, settlement, now) =>
        record && protocol.settle(record, record.fence, settlement, now),
    },
  },
  'a completion that overwrites whatever is there': {
    world: transactional,
    broken: {
      settle: (record, _fence, { ttlMs }, now) =>
        record && { ...record, state: 'completed', result: Buffer.from('?'), expiresAt: now + ttlMs },
    },
  },
  'an acquisition that overwrites a live record': {
    world: transactional,
    broken: { acquire: (_record, request, now) => protocol.acquire(undefined, request, now) },
  },
  'a fence that does not rise when a lock is taken over': {
    world: transactional,
    broken: {
      acquire(record, request, now) {
        const decision = protocol.acquire(record, request, now)
        return record && decision.outcome === 'acquired'
          ? { ...decision, record: { ...decision.record, fence: record.fence } }
          : decision
      },
    },
  },
  'a crashed run of an opaque handler that is run again': {
    world: { ...opaque, onCrash: 'takeover' },
    broken: {},
  },
}

test.each(Object.entries(mistakes))('the exploration finds out %s', (_, { world, broken }) => {
  const found = explore(world, { ...protocol, ...broken })
  expect(found.broken?.rule).toMatch(/another one holds|took effect twice|overwritten|went back|no effect/)
  expect(found.broken?.steps.length).toBeGreaterThan(3)
})
