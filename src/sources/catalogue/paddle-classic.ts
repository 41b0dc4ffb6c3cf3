import { createSign, createVerify } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import { provider } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import { privateKeyOf } from '../schemes/digest.ts'
import { formFields } from '../schemes/form.ts'
import { refuse } from '../schemes/refuse.ts'

/** The signed content is the form fields in the order of their names, serialised as a PHP array. */
const code: MakeScheme = ({ keyring }) => ({
  verify(delivery) {
    const { p_signature: proof, ...fields } = formFields(delivery) ?? {}
    if (!proof) return refuse('SIGNATURE_MISSING', 'the body is not a form with p_signature')
    const signature = Buffer.from(proof, 'base64')
    // Accepts only the canonical spelling: the unused bits of the last character could vary.
    if (signature.toString('base64') !== proof)
      return refuse('SIGNATURE_MALFORMED', 'p_signature is not base64')
    const signed = serialized(fields)
    for (const { key, position } of keyring.keys) {
      if (createVerify('sha1').update(signed).verify(key, signature)) return { ok: true, secret: position }
    }
    return refuse(
      'SIGNATURE_MISMATCH',
      `none of the ${keyring.keys.length} configured public key(s) made this signature`,
    )
  },
  sign(sample) {
    const [key] = keyring.keys
    if (key === undefined) throw new HookonceError('KEYS_UNAVAILABLE', 'the secret has not been read yet')
    const form = new URLSearchParams(Buffer.from(sample.body).toString('utf8'))
    form.delete('p_signature')
    const signed = serialized(Object.fromEntries(form))
    form.set('p_signature', createSign('sha1').update(signed).sign(privateKeyOf(key), 'base64'))
    return {
      method: 'POST',
      url: sample.url ?? '/',
      headers: { ...sample.headers, 'content-type': 'application/x-www-form-urlencoded' },
      body: Buffer.from(form.toString()),
    }
  },
})

function serialized(fields: Readonly<Record<string, string>>): string {
  const names = Object.keys(fields).sort()
  const text = (value: string): string => `s:${Buffer.byteLength(value)}:"${value}";`
  return `a:${names.length}:{${names.map((name) => text(name) + text(fields[name] ?? '')).join('')}}`
}

export const paddleClassic = provider<Readonly<Record<string, string>>, unknown, string>(
  {
    provider: 'paddle-classic',
    about: {
      name: 'Paddle Classic',
      category: 'billing',
      confidence: 'uncertain',
      evidence: [
        'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
        'github.com/hookdeck/webhook-samples@84a3957 (captured real requests)',
      ],
      unverified: ['the signed text', 'the id of the object', 'the retries; hookonce assumes a week'],
      notes: ['For Paddle accounts from before Paddle Billing. The secret is the public key of the vendor.'],
    },
    signature: {
      algorithm: 'coded',
      how: 'RSA-SHA1 in base64 in the form field `p_signature` over the other fields, sorted by name and serialised like a PHP array',
      secret: 'public-key',
    },
    body: 'form',
    event: {
      key: 'form:alert_id',
      type: 'form:alert_name',
      objectId: ['form:order_id', 'form:subscription_id', 'form:checkout_id'],
      occurredAt: { at: 'form:event_time', unit: 'iso' },
    },
    retryWindowHours: 7 * 24,
    acceptedStatus: 200,
  },
  code,
)
