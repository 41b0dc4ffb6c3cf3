import { describe, expect, test } from 'vitest'
import { check } from '../input/checked.ts'
import { burstOf, circuitSchema, rateSchema } from '../input/limiter-options.ts'
import { Circuit } from './circuit.ts'

const OPTIONS = {
  failureRate: 0.5,
  minSamples: 4,
  windowMs: 1_000,
  openMs: 1,
  maxOpenMs: 1,
  probes: 1,
}

/** The runs at which the circuit should open. `F` failed, `.` succeeded. */
function opensAt(runs: string, options: Partial<typeof OPTIONS> = {}, everyMs = 1): number | undefined {
  const circuit = new Circuit({ ...OPTIONS, ...options })
  const at = [...runs].findIndex((run, n) => circuit.sample(`job ${n}`, run === 'F', n * everyMs))
  return at < 0 ? undefined : at + 1
}

describe('when a circuit opens', () => {
  test('at the failure rate, but not before the minimum of runs', () => {
    expect(opensAt('FFFF')).toBe(4)
    expect(opensAt('FFF')).toBeUndefined()
    expect(opensAt('..FF')).toBe(4)
    expect(opensAt('...F')).toBeUndefined()
    expect(opensAt('FF..')).toBeUndefined()
    expect(opensAt('FF..F')).toBe(5)
  })

  test('older runs do not count', () => {
    expect(opensAt('FFF....F', {}, 200)).toBeUndefined()
    expect(opensAt('FFFFFF', {}, 400)).toBeUndefined()
    expect(opensAt('FFFFFF', {}, 250)).toBe(4)
  })

  test('at most a hundred runs count, so the failures of a busy destination are noticed soon', () => {
    expect(opensAt('.'.repeat(900) + 'F'.repeat(100))).toBe(950)
  })

  test('the retries of one job count as one run', () => {
    const circuit = new Circuit(OPTIONS)
    for (let n = 0; n < 50; n += 1) expect(circuit.sample(`${n % 3}`, true, n)).toBe(false)
    expect(circuit.sample('another', true, 50)).toBe(true)
  })

  test('after a change of its state, earlier runs do not count', () => {
    const circuit = new Circuit(OPTIONS)
    for (let n = 0; n < 3; n += 1) circuit.sample(`${n}`, true, n)
    circuit.learn({ state: 'open', generation: 1, failedProbes: 0 })
    expect(circuit.isClosed).toBe(false)
    expect(circuit.sample('4', true, 4)).toBe(false)
    circuit.learn({ state: 'closed', generation: 3, failedProbes: 0 })
    expect([5, 6, 7].map((n) => circuit.sample(`${n}`, true, n))).toEqual([false, false, false])
    expect(circuit.sample('8', true, 8)).toBe(true)
  })

  test('a known state changes nothing', () => {
    const circuit = new Circuit(OPTIONS)
    circuit.learn({ state: 'closed', generation: 3, failedProbes: 0 })
    for (let n = 0; n < 3; n += 1) circuit.sample(`${n}`, true, n)
    circuit.learn({ state: 'closed', generation: 3, failedProbes: 0 })
    expect(circuit.sample('3', true, 3)).toBe(true)
  })
})

test('options of a circuit and a rate are checked', () => {
  expect(check(circuitSchema, 'off', 'circuit')).toBe('off')
  expect(check(circuitSchema, {}, 'circuit')).toMatchObject({ failureRate: 0.5, minSamples: 10, probes: 3 })
  expect(() => check(circuitSchema, 'on', 'circuit')).toThrow("or 'off'")
  expect(() => check(circuitSchema, { openMs: 10, maxOpenMs: 5 }, 'circuit')).toThrow(
    'maxOpenMs: must not be less than openMs',
  )
  expect(() => check(circuitSchema, { openMs: 600_000 }, 'circuit')).toThrow(
    'maxOpenMs: must not be less than openMs',
  )
  expect(() => check(rateSchema, { perSecond: 0 }, 'rate')).toThrow('rate: perSecond')
  expect(() => check(rateSchema, { perMinute: 5 }, 'rate')).toThrow('allowed: perSecond, burst')
})

test('a burst is a quarter of a second by default, and at least one', () => {
  expect(burstOf({ perSecond: 100 })).toBe(25)
  expect(burstOf({ perSecond: 0.5 })).toBe(1)
  expect(burstOf({ perSecond: 100, burst: 3 })).toBe(3)
})

test('a failed probe waits until the next probe, which doubles with each failure', () => {
  const circuit = new Circuit({ ...OPTIONS, openMs: 10, maxOpenMs: 50 })
  const delays = (['closed', 'open', 'half-open'] as const).map((state, generation) => {
    circuit.learn({ state, generation, failedProbes: 0 })
    return circuit.probeDelayMs
  })
  expect(delays).toEqual([0, 0, 20])
  circuit.learn({ state: 'half-open', generation: 9, failedProbes: 1 })
  expect(circuit.probeDelayMs).toBe(40)
  circuit.learn({ state: 'half-open', generation: 11, failedProbes: 7 })
  expect(circuit.probeDelayMs).toBe(50)
})
