import { expect, test } from 'vitest'
import type { EffectRow } from '../ledger/effects/effects.ts'
import { decide, type RequestTerms } from './decide.ts'

const row: EffectRow = {
  epoch: 0,
  state: 'started',
  mode: 'keyed',
  receiptId: '',
  subscriber: 1,
  fence: 3,
  inputHash: null,
  downstreamKey: '',
  result: null,
  reason: null,
  reopened: false,
  startedAt: new Date(0),
  ageMs: 1_000,
}
const terms: RequestTerms = { mode: 'keyed', downstreamTtlMs: 2_000, reconciles: false, callerIsLive: false }

test.each<[string, Partial<EffectRow>, Partial<RequestTerms>, string]>([
  ['done is returned', { state: 'done' }, {}, 'return'],
  [
    'what is done and asked for afresh is the next epoch',
    { state: 'done', reopened: true },
    {},
    'next epoch',
  ],
  ['what is known not to be done is the next epoch', { state: 'failed' }, {}, 'next epoch'],
  ['unknown stops', { state: 'unknown' }, {}, 'stop'],
  [
    'unknown stops also where the other side could be asked',
    { state: 'unknown' },
    { reconciles: true },
    'stop',
  ],
  ['a live caller is waited for', {}, { callerIsLive: true }, 'wait'],
  ['a live caller is waited for in every mode', {}, { callerIsLive: true, mode: 'atLeastOnce' }, 'wait'],
  ['keyed: within the time of the key', {}, {}, 'take over'],
  ['keyed: at the end of it', { ageMs: 2_000 }, {}, 'stop'],
  ['keyed: after it, the other side is asked', { ageMs: 9_000 }, { reconciles: true }, 'take over'],
  ['atMostOnce', {}, { mode: 'atMostOnce' }, 'stop'],
  ['atMostOnce: the other side is asked', {}, { mode: 'atMostOnce', reconciles: true }, 'take over'],
  ['atMostOnce: a person said so', { fence: 0 }, { mode: 'atMostOnce' }, 'take over'],
  ['atLeastOnce', { ageMs: 9e9 }, { mode: 'atLeastOnce' }, 'take over'],
  ['tx meets a call that was not ended', {}, { mode: 'tx' }, 'stop'],
])('%s', (_, effect, who, kind) => {
  expect(decide({ ...row, ...effect }, { ...terms, ...who }).kind).toBe(kind)
})
