import { expect, test } from 'vitest'
import { turns } from './turns.ts'

const tenantOf = (subscriber: number): string => (subscriber < 10 ? 'loud' : 'quiet')

test('tenants take turns, with any number of subscribers', () => {
  const { divide } = turns(tenantOf)
  const wanted = new Map([
    [1, 50],
    [2, 50],
    [3, 50],
    [11, 50],
  ])
  expect(Object.fromEntries(divide(12, wanted))).toEqual({ 1: 2, 2: 2, 3: 2, 11: 6 })
})

test('the subscriber whose last run was longest ago comes first', () => {
  const { divide, recordRun } = turns(tenantOf)
  const wanted = new Map([
    [1, 5],
    [11, 5],
  ])
  recordRun(1)
  expect(Object.fromEntries(divide(1, wanted))).toEqual({ 11: 1 })
  recordRun(11)
  expect(Object.fromEntries(divide(1, wanted))).toEqual({ 1: 1 })
})

test('no subscriber gets more than it wants, and the rest goes to the others', () => {
  const { divide } = turns(tenantOf)
  const wanted = new Map([
    [1, 9],
    [11, 1],
  ])
  expect(Object.fromEntries(divide(6, wanted))).toEqual({ 1: 5, 11: 1 })
  expect(Object.fromEntries(divide(20, wanted))).toEqual({ 1: 9, 11: 1 })
  expect(divide(0, wanted).size).toBe(0)
})
