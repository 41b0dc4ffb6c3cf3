import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Delivery, SignedDelivery, SigningSource } from '../../src/sources/index.ts'

/** Code that a provider publishes, and how it is called. */
export interface Proof {
  readonly evidence: string
  readonly make: (options: { secret: string }) => SigningSource
  readonly secret: fc.Arbitrary<string>
  /** The bodies that its code accepts: JSON only, any text, or any bytes. */
  readonly bodies: keyof typeof BODIES
  /**
   * Throws or returns false if the delivery is not genuine. The code of a few providers can only
   * sign.
   */
  readonly believes?: (delivery: SignedDelivery, secret: string) => unknown
  /** The headers that the provider's code makes. The code of most providers can only verify. */
  readonly sign?: (body: Buffer, secret: string, at: Date) => Headers | Promise<Headers>
}

export type Headers = Record<string, string>

export const text = ({ body }: SignedDelivery): string => Buffer.from(body).toString('utf8')

export const plainSecret = fc.stringMatching(/^[!-~]{16,64}$/)
export const base64Secret = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((bytes) => Buffer.from(bytes).toString('base64'))

// Text that UTF-8 can encode: the libraries accept strings, and would replace any other character.
export const anyText = fc.string({ unit: 'grapheme' })
export const anyJson = fc
  .dictionary(anyText, fc.jsonValue({ stringUnit: 'grapheme' }))
  .map((value) => JSON.stringify(value))

const JSON_BODIES = ['{}', '{"ü":"☃ 𝄞"}', JSON.stringify({ large: 'ä'.repeat(512 * 1024) })]
const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte)
const BODIES = {
  json: { fixed: JSON_BODIES, random: anyJson },
  text: { fixed: [...JSON_BODIES, '', ' no JSON \r\n☃'], random: anyText },
  bytes: { fixed: [...JSON_BODIES, '', ALL_BYTES], random: fc.uint8Array() },
} satisfies Record<string, { fixed: Body[]; random: fc.Arbitrary<Body> }>

type Body = string | Uint8Array

/** The delivery in the form in which a receiver gets it. */
export function deliver(
  headers: Headers,
  body: string | Uint8Array,
  { url = '/', atMs = Date.now() }: { url?: string; atMs?: number } = {},
): Delivery {
  return {
    method: 'POST',
    url,
    header: (name) => headers[name],
    body: Buffer.from(body),
    receivedAtMs: atMs,
  }
}

/**
 * The provider's code accepts signatures of hookonce, and hookonce accepts signatures of the
 * provider. Both reject a changed delivery, and a delivery signed with another secret.
 */
export function prove(proofs: readonly Proof[]): void {
  describe.each(proofs)('$evidence', ({ make, secret, bodies, believes, sign }) => {
    const { fixed, random } = BODIES[bodies]
    const cases = fc.tuple<[Body, string, string]>(random, secret, secret)
    const everyBody = fixed.flatMap((body) =>
      fc.sample(cases, 1).map(([, secret, other]): [[Body, string, string]] => [[body, secret, other]]),
    )
    // The fixed bodies first, then random ones.
    const runs = { numRuns: 40, examples: everyBody }

    if (believes !== undefined)
      it('accepts deliveries that hookonce signs', async () => {
        const refusing = async (delivery: SignedDelivery, secret: string): Promise<void> => {
          if ((await believes(delivery, secret)) === false) throw new Error('not believed')
        }
        await fc.assert(
          fc.asyncProperty(cases, async ([body, secret, other]) => {
            fc.pre(secret !== other)
            // Their code uses only the clock of the machine.
            const delivery = make({ secret }).deliver({ body, timestampMs: Date.now() })
            await refusing(delivery, secret)
            await expect(refusing(delivery, other)).rejects.toThrow()
            await expect(
              refusing({ ...delivery, body: changed(delivery.body, bodies) }, secret),
            ).rejects.toThrow()
          }),
          runs,
        )
      })

    if (sign !== undefined)
      it('signs deliveries that hookonce accepts', async () => {
        await fc.assert(
          fc.asyncProperty(cases, async ([body, secret, other]) => {
            fc.pre(secret !== other)
            const at = new Date()
            const bytes = Buffer.from(body)
            const headers = await sign(bytes, secret, at)
            const verify = (secret: string, body: Uint8Array) =>
              make({ secret }).verify(deliver(headers, body, { atMs: at.getTime() }))
            expect(verify(secret, bytes)).toEqual({ ok: true, secret: 1 })
            for (const refused of [verify(other, bytes), verify(secret, changed(bytes, bodies))])
              expect(refused).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
          }),
          runs,
        )
      })
  })
}

/** JSON gets one more field: some SDKs receive the parsed body, and would not notice a space. */
function changed(body: Uint8Array, kind: Proof['bodies']): Buffer {
  if (kind !== 'json') return Buffer.concat([body, Buffer.from(' ')])
  const value: Record<string, unknown> = JSON.parse(Buffer.from(body).toString())
  return Buffer.from(JSON.stringify({ ...value, addedOnTheWay: true }))
}
