import { createSign, createVerify } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import { provider } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import { privateKeyOf } from '../schemes/digest.ts'
import { formFields } from '../schemes/form.ts'
import { refuse } from '../schemes/refuse.ts'

/**
 * The signed content is the form fields in the order of their names, as `name=value` joined with
 * `&`. Most notifications are signed without `sign_type`, some with it.
 */
const code: MakeScheme = ({ keyring }) => ({
  verify(delivery) {
    const { sign: proof, ...signed } = formFields(delivery) ?? {}
    if (!proof) return refuse('SIGNATURE_MISSING', 'the body is not a form with the field sign')
    const signature = Buffer.from(proof, 'base64')
    // Accepts only the canonical spelling: the unused bits of the last character could vary.
    if (signature.toString('base64') !== proof) return refuse('SIGNATURE_MALFORMED', 'sign is not base64')
    const { sign_type: kind, ...fields } = signed
    if (kind !== 'RSA2') return refuse('SIGNATURE_MALFORMED', 'sign_type is not RSA2')
    const contents = [joined(fields), joined(signed)]
    for (const { key, position } of keyring.keys) {
      for (const content of contents)
        if (createVerify('sha256').update(content).verify(key, signature))
          return { ok: true, secret: position }
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
    for (const name of ['sign', 'sign_type']) form.delete(name)
    const content = joined(Object.fromEntries(form))
    form.set('sign_type', 'RSA2')
    form.set('sign', createSign('sha256').update(content).sign(privateKeyOf(key), 'base64'))
    return {
      method: 'POST',
      url: sample.url ?? '/',
      headers: { ...sample.headers, 'content-type': 'application/x-www-form-urlencoded' },
      body: Buffer.from(form.toString()),
    }
  },
})

function joined(fields: Readonly<Record<string, string>>): string {
  return Object.keys(fields)
    .sort()
    .map((name) => `${name}=${fields[name]}`)
    .join('&')
}

export const alipay = provider<Readonly<Record<string, string>>, unknown, string>(
  {
    provider: 'alipay',
    about: {
      name: 'Alipay (Open Platform notifications)',
      category: 'payments',
      confidence: 'verified',
      evidence: [
        'npm:alipay-sdk@4.14.0:src/alipay.ts (checkNotifySignV2)',
        'github.com/garethx/webhook-skills@eed4eb1:skills/alipay-webhooks/references/overview.md (secondary)',
      ],
      unverified: [
        'that `notify_id` is the same at each attempt: hookonce uses it only without a trade',
        'the retries; hookonce assumes two days',
      ],
      notes: [
        'The secret is the public key of Alipay (RSA2), not that of your app.',
        'The key is made of the trade, its status, and the refund if there is one.',
        'The dates of Alipay are in the time of China and name no zone: hookonce does not read them.',
        'For notifications in UTF-8. Antom and Alipay+ sign in headers and want a signed answer: they are not covered.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'RSA-SHA256 in base64 in the form field `sign` over the other fields, sorted by name and joined as `name=value` with `&`',
      secret: 'public-key',
    },
    body: 'form',
    event: {
      key: [
        {
          hash: ['form:notify_type', 'form:trade_no', 'form:trade_status'],
          optional: ['form:out_biz_no', 'form:refund_fee', 'form:gmt_refund'],
        },
        'form:notify_id',
      ],
      type: { join: ['form:notify_type', 'form:trade_status'], separator: '.' },
      objectId: ['form:trade_no', 'form:out_trade_no'],
    },
    retryWindowHours: 48,
    acceptedStatus: 200,
    acceptedBody: 'success',
  },
  code,
)
