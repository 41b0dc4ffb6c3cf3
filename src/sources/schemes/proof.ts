import type { Delivery, Refusal } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import type { RequestLocator } from '../places.ts'
import { textAt } from './locate.ts'
import { bodyParser, glanceAt, type ParseBody } from './payload.ts'
import { refuse } from './refuse.ts'

const IN_BODY = /^(?:json|item|form):/

export function isInBody(place: string | undefined): boolean {
  return place !== undefined && IN_BODY.test(place)
}

/** The body as far as a proof reads it: of these places, nothing where all are elsewhere. */
export function proofParser(
  places: readonly (string | undefined)[],
  description: Pick<CheckedDescription, 'body' | 'batch'>,
): ParseBody {
  const read = places.filter((place) => place !== undefined).filter(isInBody)
  if (read.length === 0) return () => undefined
  const glance = read.every((place) => place.startsWith('json:')) ? glanceAt(read, description) : undefined
  return glance ?? bodyParser(description.body)
}

export interface Where {
  readonly header?: string | readonly string[] | undefined
  readonly at?: RequestLocator | undefined
}

/** Finds the text of the signature, or the texts where several headers may each hold one. */
export function signatureTexts(
  { header, at }: Where,
  { batch }: Pick<CheckedDescription, 'batch'>,
): (delivery: Delivery, payload: unknown) => string[] | Refusal {
  if (at !== undefined) {
    const read = textAt(at, batch)
    return (delivery, payload) => {
      const text = read(delivery, payload)
      return text === undefined ? refuse('SIGNATURE_MISSING', `there is nothing at ${at}`) : [text]
    }
  }
  const names = [header ?? []].flat()
  const [only = ''] = names
  if (names.length === 1) {
    return (delivery) => {
      const text = delivery.header(only)
      return text ? [text] : refuse('SIGNATURE_MISSING', `the header ${only} is not there`)
    }
  }
  return (delivery) => {
    const texts = names
      .map((name) => delivery.header(name))
      .filter((text) => text !== undefined && text !== '')
    return texts.length > 0
      ? (texts as string[])
      : refuse('SIGNATURE_MISSING', `none of the headers ${names.join(', ')} is there`)
  }
}
