import type { Delivery } from '../contract.ts'
import type { SchemeInput } from '../schemes/custom-scheme.ts'

/**
 * One way in which things may be other than they should: if the signature is right under it, that
 * was the fault.
 */
export interface Alternative {
  /**
   * The diagnosis; names neither the secret nor anything of the body. A function gets the position
   * of the key that matched.
   */
  readonly says: string | ((secret: number) => string)
  readonly delivery?: Delivery
  readonly coding?: Partial<SchemeInput>
  /** What making it took, in bytes looked at: trying it is charged apart. */
  readonly cost?: number
}

/** The delivery with another body. */
export function withBody(delivery: Delivery, body: Uint8Array): Delivery {
  return { ...delivery, body }
}

/** The delivery with another value of one header. */
export function withHeader(delivery: Delivery, name: string, value: string): Delivery {
  return { ...delivery, header: (asked) => (asked === name ? value : delivery.header(asked)) }
}
