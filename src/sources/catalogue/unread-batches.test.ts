import { describe, expect, it } from 'vitest'
import { everyProvider } from '../../../test/support/catalogue.ts'
import type { Delivery, Source } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { arraySteps } from '../schemes/locate.ts'

/*
 * A genuine delivery of an unknown shape must be recorded. Every batch splits into at least one
 * part, each part is identified, and every element of a batch is in one of the parts.
 */

const batches = (await everyProvider()).filter(({ description }) => description.batch !== undefined)

function delivered({ body }: CheckedDescription, text: string): Delivery {
  const field = typeof body === 'object' && 'form' in body ? body.form : undefined
  return {
    method: 'POST',
    url: '/',
    header: () => undefined,
    body: Buffer.from(field === undefined ? text : new URLSearchParams({ [field]: text }).toString()),
    receivedAtMs: 0,
  }
}

function partsOf(source: Source, delivery: Delivery): readonly Delivery[] {
  const parts = source.split?.(delivery) ?? []
  if ('ok' in parts) throw new Error(`${parts.code}: ${parts.detail}`)
  return parts
}

/** The JSON texts of the parts. */
function textsOf(description: CheckedDescription, parts: readonly Delivery[]): string[] {
  const { body } = description
  const field = typeof body === 'object' && 'form' in body ? body.form : undefined
  return parts.map((part) => {
    const text = Buffer.from(part.body).toString()
    return field === undefined ? text : (new URLSearchParams(text).get(field) ?? '')
  })
}

/**
 * Puts the value at the end of a path: `entry[].changes[]` becomes {"entry":[{"changes":[value]}]}.
 */
function nested(steps: readonly string[], value: unknown): unknown {
  const [first, ...rest] = steps
  if (first === undefined) return value
  return first === '[]' ? [nested(rest, value)] : { [first]: nested(rest, value) }
}

describe.each(batches)('$id', ({ make, options, description }) => {
  const source = make(options)
  const paths = description.batch === 'lines' ? [['[]']] : [description.batch ?? []].flat().map(arraySteps)

  it('records a body of unknown shape as one event, unchanged', () => {
    for (const body of ['{"hello":"world"}', '{"hello":["world"]}', '{}']) {
      const parts = partsOf(source, delivered(description, body))
      expect(textsOf(description, parts)).toEqual([body])
      const [event] = parts.map((part) => source.identify(part))
      expect(event).toMatchObject({ ok: true, key: expect.stringMatching(/^[0-9a-f]{64}$/) })
    }
  })

  it('records an element of unknown shape as an event next to the known ones', () => {
    for (const steps of paths) {
      const lasting = steps.lastIndexOf('[]')
      for (let depth = steps.indexOf('[]'); depth >= 0 && depth <= lasting; depth = nextArray(steps, depth)) {
        // An array on the path to the events, with one element that leads further and one that does
        // not.
        const known = nested(steps.slice(depth + 1), { id: 'known' })
        const body = JSON.stringify(withElements(steps.slice(0, depth), [known, { odd: 'unknown' }]))
        const texts = textsOf(description, partsOf(source, delivered(description, body)))
        expect(texts.filter((text) => text.includes('"unknown"'))).toHaveLength(1)
        expect(texts.filter((text) => text.includes('"known"'))).toHaveLength(1)
      }
    }
  })

  it('records a value that is not an array in the place of the events', () => {
    const [steps = []] = paths
    if (steps[0] === '[]') return
    const body = JSON.stringify(nested([...steps.slice(0, -1), 'odd'], 'unknown'))
    expect(partsOf(source, delivered(description, body))).toHaveLength(1)
  })

  it('marks such an event as unread, so that it is recorded even if no subscriber wants it', () => {
    const body = '{"hello":"world"}'
    const [event] = partsOf(source, delivered(description, body)).map((part) => source.identify(part))
    expect(event).toMatchObject({ ok: true, unread: { detail: expect.stringContaining('no ') } })
  })

  const isCheck = description.emptyBatch === 'acknowledge'
  it(
    isCheck ? 'acknowledges a batch without events as a check of the URL' : 'records a batch without events',
    () => {
      const [steps = []] = paths
      const body = JSON.stringify(withElements(steps.slice(0, steps.indexOf('[]')), []))
      expect(partsOf(source, delivered(description, body))).toHaveLength(isCheck ? 0 : 1)
    },
  )
})

it('only asana, line and xero send batches without events', () => {
  const checks = batches.filter(({ description }) => description.emptyBatch === 'acknowledge')
  expect(checks.map(({ id }) => id)).toEqual(['asana', 'line', 'xero'])
})

function nextArray(steps: readonly string[], depth: number): number {
  const next = steps.indexOf('[]', depth + 1)
  return next < 0 ? steps.length : next
}

/** An array of these elements at the end of a path. */
function withElements(steps: readonly string[], elements: readonly unknown[]): unknown {
  return nested(steps, elements)
}
