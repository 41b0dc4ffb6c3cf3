import { expect, test, vi } from 'vitest'
import { type Observer, observers } from './observer.ts'

test('an observer that throws stops neither other observers nor the work', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const broken = (): never => {
    throw new Error('disk full')
  }
  const told: string[] = []
  const whole: Observer = {
    delivery: () => void told.push('delivery'),
    attempt: () => void told.push('attempt'),
    rescue: () => void told.push('rescue'),
    message: () => void told.push('message'),
    trouble: () => void told.push('trouble'),
  }
  const all = observers([
    { delivery: broken, attempt: broken, rescue: broken, message: broken, trouble: broken },
    whole,
  ])
  all.delivery({ source: 'test', outcome: 'recorded', status: 202, durationMs: 1 })
  all.attempt({
    source: 'test',
    subscriber: 'app',
    receiptId: '',
    attempt: 1,
    outcome: 'lost',
    durationMs: 1,
    ageMs: 1,
  })
  all.rescue({ receiptId: '', buried: false })
  all.message({ messageId: '', topic: 'a', key: null, attempt: 1, outcome: 'lost', durationMs: 1 })
  all.trouble({ doing: 'nothing', error: undefined })
  expect(told).toEqual(['delivery', 'attempt', 'rescue', 'message', 'trouble'])
  expect(warned).toHaveBeenCalledTimes(5)
  warned.mockRestore()
})

test('an asynchronous observer that rejects is reported like one that throws, ten times in ten seconds', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const all = observers([
    {
      async chore() {
        throw new Error('disk full')
      },
    },
  ])
  for (let n = 0; n < 100; n += 1) all.chore?.({ name: 'prune', durationMs: 1, result: { rows: 1 } })
  await new Promise(setImmediate)
  expect(warned).toHaveBeenCalledTimes(10)
  expect(warned).toHaveBeenCalledWith('chore() of an observer of hookonce threw: Error: disk full')
  warned.mockRestore()
})

test('a member that no observer has is absent, so nothing is prepared for it', () => {
  const all = observers([{ attempt: () => undefined, chore: undefined }])
  expect(all.chore).toBeUndefined()
  expect(all.effectStarted).toBeUndefined()
  expect(all.inSpan).toBeUndefined()
  expect(all.traceContext).toBeUndefined()
})
