import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { jobStates, transitions } from './job-state.ts'

test('the ledger has the same states', () => {
  const sql = readFileSync(new URL('../ledger/migrations/0001-ledger.sql', import.meta.url), 'utf8')
  const words = /create type ledger\.job_state as enum \(([^)]*)\)/.exec(sql)?.[1] ?? ''
  expect([...words.matchAll(/'(\w+)'/g)].map((match) => match[1])).toEqual([...jobStates])
})

test('every state can be reached from received, and a replay can leave every final state', () => {
  const reached = new Set<string>(['received'])
  for (const state of reached) {
    const next = transitions[state as keyof typeof transitions]
    expect(next.length, state).toBeGreaterThan(0)
    for (const to of next) reached.add(to)
  }
  expect([...reached].sort()).toEqual([...jobStates].sort())
})
