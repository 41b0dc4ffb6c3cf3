import * as buffer from 'node:buffer'
import { HookonceError } from '../../model/errors.ts'
import { MARKER } from '../../sources/redact/marker.ts'
import type { ChainJob, EventChain } from '../receipt.ts'
import { deliveredHeaders } from './delivered-headers.ts'
import { commented, literal, quoted } from './source-text.ts'

export interface AsTestOptions {
  /** The module of the project that exports `hooks`. */
  readonly hooks?: string | undefined
}

const DEFAULT_HOOKS = './hooks.ts'

/** The largest number of copies that `deliver()` of hookonce/testing accepts. */
const MAX_TIMES = 1_000

/**
 * A test for vitest and `hookonce/testing` that delivers this event again, as often as it arrived,
 * and expects the results in its chain. Throws if the body is gone.
 */
export function eventAsTest(chain: EventChain, { hooks = DEFAULT_HOOKS }: AsTestOptions = {}): string {
  const { receipt, deliveries } = chain
  const body = storedBody(receipt)
  const times = Math.min(Math.max(deliveries.count, 1), MAX_TIMES)
  const name = `${receipt.source} ${receipt.eventType} ${receipt.eventKey}`
  const often = times === 1 ? '' : `, delivered ${times} times`
  return `${[
    `// ${commented(name)}, received ${receipt.receivedAt.toISOString()} (receipt ${receipt.id}).`,
    ...notes(chain, body),
    `import { testHooks } from 'hookonce/testing'`,
    `import 'hookonce/testing/vitest'`,
    `import { expect, test } from 'vitest'`,
    '// Your hooks, not started, or a function that makes them on a database.',
    `import { hooks } from ${quoted(hooks)}`,
    '',
    `const body = ${bodyLiteral(body)}`,
    '',
    `test(${quoted(commented(name) + often)}, async () => {`,
    '  // If your handlers need tables, pass { setup } as the second argument.',
    '  await using t = await testHooks(hooks)',
    ...delivery(chain, times),
    '  await t.settled()',
    '  expect(delivered).toBeAcknowledged()',
    '',
    ...jobStates(chain),
    ...effects(chain),
    '}, 60_000)',
  ].join('\n')}\n`
}

function storedBody({ id, body, unreadable }: EventChain['receipt']): Buffer {
  if (unreadable) throw unreadable
  if (body === null)
    throw new HookonceError('BODY_EXPIRED', `the body of receipt ${id} is past its retention`)
  if (body.equals(Buffer.from(JSON.stringify(MARKER))))
    throw new HookonceError('BODY_REDACTED', `the whole body of receipt ${id} was redacted`)
  return body
}

/** The differences between the test and the real event. */
function notes({ reconciled, deliveries, receipt }: EventChain, body: Buffer): string[] {
  const { count, mismatches } = deliveries
  const found: string[] = []
  if (reconciled && count === 0)
    found.push('It never arrived: the list of the provider had it. This test delivers it once.')
  if (count > MAX_TIMES) found.push(`It was delivered ${count} times.`)
  if (mismatches > 0)
    found.push(`${mismatches} of its deliveries had another body, which is not stored: all have the first.`)
  if (isRedacted(body, receipt.headers))
    found.push(`Values were redacted before it was stored. They are ${quoted(MARKER)}, as for its handlers.`)
  return found.map((note) => `// ${note}`)
}

function isRedacted(body: Buffer, headers: string | null): boolean {
  const inBody = [MARKER, encodeURIComponent(MARKER)].some((marker) => body.includes(marker))
  return inBody || headers?.includes(`: ${MARKER}\n`) === true
}

function bodyLiteral(body: Buffer): string {
  if (buffer.isUtf8(body)) return literal(body.toString('utf8'))
  return `Buffer.from(${quoted(body.toString('base64'))}, 'base64')`
}

function delivery({ receipt }: EventChain, times: number): string[] {
  const kept = Object.entries(deliveredHeaders(receipt.headers ?? ''))
  const event = `${quoted(receipt.source)}, ${quoted(receipt.eventType)}`
  const options = [`key: ${quoted(receipt.eventKey)}`, 'body', ...(times === 1 ? [] : [`times: ${times}`])]
  const head = `  const delivered = await t.deliver(${event}, {}, {`
  if (kept.length === 0) return [`${head} ${options.join(', ')} })`]
  return [
    head,
    ...options.map((option) => `    ${option},`),
    '    headers: {',
    ...kept.map(([name, value]) => `      ${quoted(name)}: ${quoted(value)},`),
    '    },',
    '  })',
  ]
}

function jobStates(chain: EventChain): string[] {
  return [
    '  const jobs = (await t.jobs()).filter(({ eventKey }) => eventKey === delivered.key)',
    '  expect(Object.fromEntries(jobs.map(({ subscriber, state }) => [subscriber, state]))).toEqual({',
    ...chain.jobs.flatMap((job) => {
      const { state, note } = expectedState(job, chain)
      const line = `    ${quoted(job.subscriber)}: ${quoted(state)},`
      return note === undefined ? [line] : [`    // ${commented(note)}`, line]
    }),
    '  })',
  ]
}

/**
 * The state in which a test leaves the job. Only a run of the handler can fail again. A job that an
 * operator discarded, or that still waits, is expected to be processed.
 */
function expectedState(
  { subscriber, state, reason }: ChainJob,
  { attempts }: EventChain,
): { readonly state: 'processed' | 'failed'; readonly note?: string } {
  if (state === 'processed') return { state }
  const ran = attempts.some((one) => one.subscriber === subscriber && one.error !== null)
  const why = reason === null ? '' : `: ${reason}`
  if (state === 'failed' && ran) return { state, note: `It failed${why}. Once fixed: 'processed'.` }
  return { state: 'processed', note: `Its state was "${state}" when this was copied${why}` }
}

function effects({ effects }: EventChain): string[] {
  const states = new Map(effects.map(({ key, state }) => [key, state]))
  return [...states].map(([key, state]) => {
    const effect = `expect(await t.effects(${quoted(key)}))`
    if (state === 'done') return `  ${effect}.toHaveHappenedOnce()`
    if (state === 'failed') return `  ${effect}.toHaveHappenedTimes(0)`
    return `  // The outcome of the effect ${commented(key)} was not known when this was copied.`
  })
}
