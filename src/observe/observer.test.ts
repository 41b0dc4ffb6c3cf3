import { expect, test, vi } from 'vitest'
import { type Observer, observers } from './observer.ts'

test('an observer that throws keeps neither the others nor the work from going on', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const broken = (): never => {
    throw new Error('disk full')
  }
  const told: string[] = []
  const whole: Observer = {
    delivery: () => void told.push('delivery'),
    attempt: () => void told.push('attempt'),
    rescue: () => void told.push('rescue'),
    trouble: () => void told.push('trouble'),
  }
  const all = observers([{ delivery: broken, attempt: broken, rescue: broken, trouble: broken }, whole])
  all.delivery({ source: 'test', outcome: 'recorded', status: 202, durationMs: 1 })
  all.attempt({
    source: 'test',
    subscriber: 'app',
    receiptId: '',
    attempt: 1,
    outcome: 'lost',
    durationMs: 1,
  })
  all.rescue({ receiptId: '', buried: false })
  all.trouble({ doing: 'nothing', error: undefined })
  expect(told).toEqual(['delivery', 'attempt', 'rescue', 'trouble'])
  expect(warned).toHaveBeenCalledTimes(4)
  warned.mockRestore()
})
