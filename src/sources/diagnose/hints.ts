import type { Delivery } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { parseJson } from '../schemes/payload.ts'
import { isJson, isWritable } from './bodies.ts'
import { compressedHint, packingOf } from './compressed.ts'
import { orderOf } from './key-order.ts'

const REPLACEMENT = Buffer.from('\ufffd')

/** Signs of changes to the body that cannot be undone and tried. */
export function hintsOf(delivery: Delivery, { body: kind }: CheckedDescription): string[] {
  const { body } = delivery
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const packing = packingOf(delivery)
  if (packing) return [compressedHint(packing.name)]
  const order = isJson(kind, body) && isWritable(body) ? orderOf(parseJson(body) ?? {}) : undefined
  return [
    ...(bytes.includes(REPLACEMENT)
      ? [
          'the body holds U+FFFD, which stands for bytes that were lost: it was decoded as text in the wrong charset, or is no text; hand over the raw bytes',
        ]
      : []),
    ...(order === undefined
      ? []
      : [
          `the names in the body stand in ${order}, as after it was parsed and written again, unless the provider sends them so; hand over the raw bytes`,
        ]),
  ]
}
