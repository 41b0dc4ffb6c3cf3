import type { Delivery } from '../contract.ts'
import type { SchemeInput } from '../schemes/custom-scheme.ts'

/** One possible deviation. If the signature is valid with it, the deviation was the fault. */
export interface Alternative {
  /**
   * The diagnosis. Contains neither the secret nor anything of the body. A function receives the
   * position of the matching key.
   */
  readonly diagnosis: string | ((secret: number) => string)
  readonly delivery?: Delivery
  readonly input?: Partial<SchemeInput>
  /**
   * The cost of creating the alternative, in bytes read. The trial itself is charged separately.
   */
  readonly cost?: number
}

/** The delivery with a different body. */
export function withBody(delivery: Delivery, body: Uint8Array): Delivery {
  return { ...delivery, body }
}

/** The delivery with a different value of one header. */
export function withHeader(delivery: Delivery, name: string, value: string): Delivery {
  return { ...delivery, header: (requested) => (requested === name ? value : delivery.header(requested)) }
}
