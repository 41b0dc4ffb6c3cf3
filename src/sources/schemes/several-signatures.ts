import type { Delivery } from '../contract.ts'
import { signer } from '../sign.ts'
import { type DigestSignature, isDigest } from '../signature.ts'
import type { MakeScheme, SchemeInput } from './custom-scheme.ts'
import { digestVerifier } from './verify.ts'

/** Another way in which a provider signs: undated, or with the described date. */
export interface OtherSignature {
  readonly signature: DigestSignature
  readonly isDated: boolean
  /**
   * Whether the delivery declares this way of signing. Each delivery is signed in one way, and the
   * others are not tried.
   */
  claims(delivery: Delivery): boolean
}

/**
 * For providers that sign in one of several ways. A delivery that declares no other way is verified
 * as described.
 */
export function severalSignatures(others: readonly OtherSignature[]): MakeScheme {
  return (input: SchemeInput) => {
    const { description } = input
    const { signature } = description
    // A diagnosis tries other signatures by changing the description.
    if (!isDigest(signature)) throw new Error(`${description.provider} is not described by a digest`)
    const verify = digestVerifier({ ...input, signature })
    const ways = others.map((other) => ({
      claims: other.claims,
      verify: digestVerifier({
        ...input,
        description: {
          ...description,
          signature: other.signature,
          timestamp: other.isDated ? description.timestamp : undefined,
        },
        signature: other.signature,
        toleranceSeconds: other.isDated ? input.toleranceSeconds : 'off',
      }),
    }))
    return {
      verify: (delivery) => (ways.find(({ claims }) => claims(delivery))?.verify ?? verify)(delivery),
      sign: signer(input),
    }
  }
}
