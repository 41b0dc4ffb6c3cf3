import type { Delivery, Refusal } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { partsOf, type RequestLocator } from '../places.ts'
import { arraySteps, textAt } from './locate.ts'
import { outlineOf } from './outline.ts'
import { bodyParser, type ParseBody } from './payload.ts'
import { refuse, refuseHeader } from './refuse.ts'

const IN_BODY = /^(?:json|item|form):/

export function isInBody(place: string | undefined): boolean {
  return place !== undefined && IN_BODY.test(place)
}

/**
 * Parses only the parts of the body that a proof reads. Parses nothing if all places are elsewhere.
 */
export function proofParser(
  places: readonly (string | undefined)[],
  description: Pick<CheckedDescription, 'body' | 'batch'>,
): ParseBody {
  const read = places.filter((place) => place !== undefined).filter(isInBody)
  if (read.length === 0) return () => undefined
  return partialProofParser(read, description) ?? bodyParser(description.body)
}

/**
 * Reads only the places of a proof. The sender is not verified yet, so nothing else of the body is
 * built. In a batch these are the places of the first event. Undefined if the whole body must be
 * parsed: a form, or a batch that may be the body itself.
 */
function partialProofParser(
  places: readonly string[],
  { body, batch }: Pick<CheckedDescription, 'body' | 'batch'>,
): ParseBody | undefined {
  if (body !== 'json') return undefined
  const paths: string[][] = []
  for (const [kind, rest] of places.map(partsOf)) {
    const items = kind === 'json' ? [[]] : firstItems(batch)
    if (kind === 'form' || items === undefined) return undefined
    paths.push(...items.map((steps) => [...steps, ...rest.split('.')]))
  }
  const outline = outlineOf(paths)
  return (delivery) => outline(delivery.body)
}

/** The paths of the first event: `json:entry[].changes[]` becomes entry, 0, changes, 0. */
function firstItems(batch: CheckedDescription['batch']): string[][] | undefined {
  if (batch === undefined || batch === 'lines') return undefined
  const paths = [batch].flat().map(arraySteps)
  if (paths.some(([first]) => first === '[]')) return undefined
  return paths.map((steps) => steps.map((step) => (step === '[]' ? '0' : step)))
}

export interface SignaturePlace {
  readonly header?: string | readonly string[] | undefined
  readonly at?: RequestLocator | undefined
}

/** Finds the text of the signature, or several texts if any of several headers may hold it. */
export function signatureTexts(
  { header, at }: SignaturePlace,
  { batch }: Pick<CheckedDescription, 'batch'>,
): (delivery: Delivery, payload: unknown) => string[] | Refusal {
  if (at !== undefined) {
    const read = textAt(at, batch)
    return (delivery, payload) => {
      const text = read(delivery, payload)
      return text === undefined ? refuse('SIGNATURE_MISSING', `the signature at ${at} is missing`) : [text]
    }
  }
  const names = [header ?? []].flat()
  const [only = ''] = names
  if (names.length === 1) {
    return (delivery) => {
      const text = delivery.header(only)
      return text ? [text] : refuseHeader('SIGNATURE_MISSING', only, `the header ${only} is missing`)
    }
  }
  return (delivery) => {
    const texts = names
      .map((name) => delivery.header(name))
      .filter((text) => text !== undefined && text !== '')
    return texts.length > 0
      ? (texts as string[])
      : refuseHeader('SIGNATURE_MISSING', names.join(', '), `the headers ${names.join(', ')} are all missing`)
  }
}
