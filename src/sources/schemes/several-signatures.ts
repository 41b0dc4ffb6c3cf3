import type { Delivery } from '../contract.ts'
import { signer } from '../sign.ts'
import { type DigestSignature, isDigest } from '../signature.ts'
import type { MakeScheme, SchemeInput } from './custom-scheme.ts'
import { digestVerifier } from './verify.ts'

/** Another way in which a provider signs, without a date of its own or with the one described. */
export interface OtherSignature {
  readonly signature: DigestSignature
  readonly isDated: boolean
  /**
   * Whether the delivery says that it is signed in this way. Each is signed in one: the others are
   * not tried.
   */
  claims(delivery: Delivery): boolean
}

/**
 * For providers that sign in one of several ways. What no other way claims is verified as
 * described.
 */
export function severalSignatures(others: readonly OtherSignature[]): MakeScheme {
  return (coding: SchemeInput) => {
    const { description } = coding
    const { signature } = description
    // A diagnosis tries other signatures by describing them.
    if (!isDigest(signature)) throw new Error(`${description.provider} is not described by a digest`)
    const verify = digestVerifier({ ...coding, signature })
    const ways = others.map((other) => ({
      claims: other.claims,
      verify: digestVerifier({
        ...coding,
        description: {
          ...description,
          signature: other.signature,
          timestamp: other.isDated ? description.timestamp : undefined,
        },
        signature: other.signature,
        toleranceSeconds: other.isDated ? coding.toleranceSeconds : 'off',
      }),
    }))
    return {
      verify: (delivery) => (ways.find(({ claims }) => claims(delivery))?.verify ?? verify)(delivery),
      sign: signer(coding),
    }
  }
}
