import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SignedDelivery, SigningSource } from '../../src/sources/index.ts'

/** Code that a provider publishes, and how it is called. */
export interface Proof {
  readonly evidence: string
  readonly make: (options: { secret: string }) => SigningSource
  readonly secret: fc.Arbitrary<string>
  /** What its code can take: JSON only, any text, or any bytes. */
  readonly bodies: keyof typeof BODIES
  /** Throws or returns false, where the delivery is not genuine. */
  readonly believes: (delivery: SignedDelivery, secret: string) => unknown
  /** The headers that the provider's code makes; most can only verify. */
  readonly sign?: (body: Buffer, secret: string, at: Date) => Headers | Promise<Headers>
}

type Headers = Record<string, string>

export const text = ({ body }: SignedDelivery): string => Buffer.from(body).toString('utf8')

export const plainSecret = fc.stringMatching(/^[!-~]{16,64}$/)
export const base64Secret = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((bytes) => Buffer.from(bytes).toString('base64'))

// Text that UTF-8 can carry: the libraries take strings, and would replace what it cannot.
const anyText = fc.string({ unit: 'grapheme' })
const anyJson = fc
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

/** What we sign the provider's code believes, and what it signs we believe; a wrong secret neither believes. */
export function prove(proofs: readonly Proof[]): void {
  describe.each(proofs)('$evidence', (proof) => {
    const { fixed, random } = BODIES[proof.bodies]
    const cases = fc.tuple<[Body, string, string]>(random, proof.secret, proof.secret)
    const everyBody = fixed.flatMap((body) =>
      fc.sample(cases, 1).map(([, secret, other]): [[Body, string, string]] => [[body, secret, other]]),
    )
    // The fixed bodies first, then random ones.
    const runs = { numRuns: 40, examples: everyBody }

    it('believes what we sign', async () => {
      await fc.assert(
        fc.asyncProperty(cases, async ([body, secret, other]) => {
          fc.pre(secret !== other)
          // Their code knows no clock but the machine's.
          const delivery = proof.make({ secret }).deliver({ body, timestampMs: Date.now() })
          expect(await proof.believes(delivery, secret)).not.toBe(false)
          await expect(refusing(proof, delivery, other)).rejects.toThrow()
        }),
        runs,
      )
    })

    const { sign } = proof
    if (sign !== undefined)
      it('signs what we believe', async () => {
        await fc.assert(
          fc.asyncProperty(cases, async ([body, secret, other]) => {
            fc.pre(secret !== other)
            const at = new Date()
            const bytes = Buffer.from(body)
            const headers = await sign(bytes, secret, at)
            const delivery = {
              method: 'POST',
              url: '/',
              header: (name: string) => headers[name],
              body: bytes,
              receivedAtMs: at.getTime(),
            }
            expect(proof.make({ secret }).verify(delivery)).toEqual({ ok: true, secret: 1 })
            expect(proof.make({ secret: other }).verify(delivery)).toMatchObject({
              code: 'SIGNATURE_MISMATCH',
            })
          }),
          runs,
        )
      })
  })
}

async function refusing({ believes }: Proof, delivery: SignedDelivery, secret: string): Promise<void> {
  if ((await believes(delivery, secret)) === false) throw new Error('not believed')
}
