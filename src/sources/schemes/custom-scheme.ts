import type { Delivery, HandshakeAnswer, Refusal } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import type { Sample, SignedDelivery } from '../sign.ts'
import type { Endpoint } from './endpoint.ts'
import type { Keyring } from './keyring.ts'
import type { ParseBody } from './payload.ts'
import type { Verify } from './verify.ts'

/** The input of a scheme's verification. */
export interface SchemeInput {
  readonly description: CheckedDescription
  readonly keyring: Keyring
  readonly endpoint: Endpoint
  readonly toleranceSeconds: number | 'off'
}

/** The parts of a scheme that are code, because a description cannot express them. */
export interface CustomScheme {
  readonly verify: Verify
  prepare?(delivery: Delivery): Promise<Refusal | undefined> | undefined
  handshake?(delivery: Delivery): HandshakeAnswer | Refusal | undefined
  /** Parses the payload, if the body is neither JSON nor a form: `body: 'coded'`. */
  readonly parse?: ParseBody
  /** Absent if only the provider itself can sign. */
  sign?(sample: Sample): SignedDelivery
}

export type MakeScheme = (input: SchemeInput) => CustomScheme
