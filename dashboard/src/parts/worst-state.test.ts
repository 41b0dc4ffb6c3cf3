import { expect, test } from 'vitest'
import { eventState, isFinished, worstOf } from './worst-state.ts'

test.each([
  [['processed', 'failed'], 'failed'],
  [['failed', 'attention'], 'attention'],
  [['stale', 'processed'], 'processed'],
  [['stale'], 'stale'],
  [['moved', 'received'], 'received'],
  [['moved'], 'moved'],
  [[], 'ignored'],
])('an event with jobs in the states %j is %s', (states, state) => {
  expect(worstOf(states)).toBe(state)
})

test('an imported event has its own state, until it has jobs', () => {
  expect(eventState({ states: [], imported: true })).toBe('imported')
  expect(eventState({ states: ['failed'], imported: true })).toBe('failed')
  expect(eventState({ states: [], imported: false })).toBe('ignored')
})

test('a stale or moved job is finished, so a replay runs it again', () => {
  expect(['processed', 'failed', 'stale', 'moved'].every(isFinished)).toBe(true)
  expect(['received', 'processing', 'retrying', 'attention'].some(isFinished)).toBe(false)
})
