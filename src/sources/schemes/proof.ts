import type { Delivery, Refusal } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import type { RequestLocator } from '../places.ts'
import { textAt } from './locate.ts'
import { bodyParser } from './payload.ts'
import { refuse } from './refuse.ts'

interface Where {
  readonly header?: string | readonly string[] | undefined
  readonly at?: RequestLocator | undefined
}

/** Finds the text of the signature, or the texts where several headers may each hold one. */
export function signatureTexts(
  { header, at }: Where,
  { body, batch }: Pick<CheckedDescription, 'body' | 'batch'>,
): (delivery: Delivery) => string[] | Refusal {
  if (at !== undefined) {
    const read = textAt(at, batch)
    const parse = /^(?:json|item|form):/.test(at) ? bodyParser(body) : () => undefined
    return (delivery) => {
      const text = read(delivery, parse(delivery))
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
