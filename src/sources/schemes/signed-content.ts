import type { Delivery, Refusal } from '../contract.ts'
import { contentPieces } from '../description.ts'
import { refuse } from './refuse.ts'

/** What is signed around the body, as byte strings (one character a byte): the body itself is never copied. */
export interface SignedContent {
  readonly before: string
  readonly after: string
}

/** All that is asked of a delivery here; a sample that is being signed has no more yet. */
type Headers = Pick<Delivery, 'header'>

/** Fills a content template such as `{header:webhook-id}.{timestamp}.{body}`, but for the body. */
export function signedContentRenderer(
  content: string,
): (headers: Headers, timestamp: string) => SignedContent | Refusal {
  const [before, after] = partsAroundBody(content)
  const nothing: SignedContent = { before: '', after: '' }
  if (before.length === 0 && after.length === 0) return () => nothing

  return (headers, timestamp) => {
    const left = render(before, headers, timestamp)
    if (typeof left !== 'string') return left
    const right = render(after, headers, timestamp)
    if (typeof right !== 'string') return right
    return { before: left, after: right }
  }
}

type Part = { readonly literal: string } | { readonly header: string } | 'timestamp'

function partsAroundBody(content: string): [before: Part[], after: Part[]] {
  const sides: [Part[], Part[]] = [[], []]
  let side = sides[0]
  for (const { literal, placeholder } of contentPieces(content)) {
    if (literal !== '') side.push({ literal: Buffer.from(literal, 'utf8').toString('latin1') })
    if (placeholder === 'body') side = sides[1]
    else if (placeholder === 'timestamp') side.push('timestamp')
    else if (placeholder !== undefined)
      side.push({ header: placeholder.slice('header:'.length).toLowerCase() })
  }
  return sides
}

function render(parts: readonly Part[], headers: Headers, timestamp: string): string | Refusal {
  let text = ''
  for (const part of parts) {
    if (part === 'timestamp') text += timestamp
    else if ('literal' in part) text += part.literal
    else {
      const value = headers.header(part.header)
      if (!value) return refuse('SIGNATURE_MISSING', `the signed header ${part.header} is not there`)
      // HTTP carries bytes. A character beyond one byte would be cut to one, so that two headers had one signature.
      if (/[\u0100-\uffff]/.test(value)) {
        return refuse(
          'SIGNATURE_MALFORMED',
          `the signed header ${part.header} holds characters that are not bytes`,
        )
      }
      text += value
    }
  }
  return text
}
