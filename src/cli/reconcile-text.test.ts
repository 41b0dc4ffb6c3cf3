import { expect, test } from 'vitest'
import { type ProgressOutput, progress } from './progress.ts'
import { reconcileStep } from './reconcile-text.ts'

function written(isTTY: boolean): { stream: ProgressOutput; texts: string[] } {
  const texts: string[] = []
  return { stream: { isTTY, write: (text) => texts.push(text) }, texts }
}

const PROGRESS = { listed: 4, missing: 3, recorded: 2 }

test('on a terminal, one line shows the progress and is removed at the end', () => {
  const { stream, texts } = written(true)
  const { show, end } = progress(stream)
  show({ ...reconcileStep(PROGRESS), noun: 'listed' })
  end()
  expect(texts).toEqual(['\r\x1b[K4 listed, 3 missing, 2 recorded', '\r\x1b[K'])
})

test('elsewhere, only a wait is written at once, without control characters', () => {
  const { stream, texts } = written(false)
  const { show, end } = progress(stream)
  show({ ...reconcileStep(PROGRESS), noun: 'listed' })
  const wait = { waitMs: 1_500, why: 'status 503\x1b[2J' }
  show({ ...reconcileStep({ ...PROGRESS, wait }), noun: 'listed' })
  end()
  expect(texts).toEqual(['4 listed, 3 missing, 2 recorded, waiting 2 s: status 503\uFFFD[2J\n'])
})
