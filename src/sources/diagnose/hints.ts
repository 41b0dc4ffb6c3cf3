import type { Delivery } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { parseJson } from '../schemes/payload.ts'
import { isJson, isWritable } from './bodies.ts'
import { compressedHint, compressionOf } from './compressed.ts'
import { orderOf } from './key-order.ts'

const REPLACEMENT = Buffer.from('\ufffd')

/** Signs of changes to the body that cannot be undone and tried. */
export function hintsOf(delivery: Delivery, { body: kind }: CheckedDescription): string[] {
  const { body } = delivery
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const compression = compressionOf(delivery)
  if (compression) return [compressedHint(compression.name)]
  const order = isJson(kind, body) && isWritable(body) ? orderOf(parseJson(body) ?? {}) : undefined
  return [
    ...(bytes.includes(REPLACEMENT)
      ? [
          'the body contains U+FFFD, which replaces lost bytes: it was decoded in the wrong charset, or is not text; pass the raw bytes',
        ]
      : []),
    ...(order === undefined
      ? []
      : [
          `the names in the body are in ${order}: unless the provider sends them so, the body was parsed and serialised again; pass the raw bytes`,
        ]),
  ]
}
