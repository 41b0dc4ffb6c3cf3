import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { capturedLog } from './captured-log.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const request = {
  id: 'a',
  at: new Date(0),
  method: 'POST',
  url: '/in/acme',
  headers: [],
  body: Buffer.from('{}'),
  isCut: false,
  durationMs: 1,
  looksLike: ['stripe'],
  advice: 'add it',
}

test('a flood of requests to an unknown source is logged in a few lines', () => {
  const lines: unknown[] = []
  const log = capturedLog({
    info: (fields, message) => void lines.push([fields, message]),
    warn: () => undefined,
    error: () => undefined,
  })
  const detail = 'POST /in/acme, 2 bytes, looks like stripe: add it'
  log(request)
  expect(lines).toEqual([[{ detail }, 'captured']])
  for (let n = 1; n < 500; n += 1) log(request)
  vi.advanceTimersByTime(10_000)
  expect(lines).toHaveLength(11)
  expect(lines.at(-1)).toEqual([{ detail, not_logged: 490 }, 'captured … and 490 more'])
})
