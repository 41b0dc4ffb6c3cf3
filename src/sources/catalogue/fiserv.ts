import { provider } from '../provider.ts'

const DOCS = 'github.com/Fiserv/ipg-na@b77b0dc:docs/additionalInfo'

export const fiserv = provider({
  provider: 'fiserv',
  about: {
    name: 'Fiserv (notifications of the Internet Payment Gateway)',
    category: 'payments',
    confidence: 'documented',
    evidence: [
      `${DOCS}/TransactionResponse.md (the signed fields)`,
      `${DOCS}/HowToGenerateHash.md (the algorithm and the encoding, of requests)`,
      `${DOCS}/ResponseDetails.md (the fields)`,
    ],
    unverified: [
      'that `notification_hash` is in base64, as the hash of a request is',
      'that the fields of a notification are those of the response',
      'the retries; hookonce assumes a week',
    ],
    notes: [
      'Five fields are signed, not the body. Fetch the transaction by its id from the API before you use any other field, such as `status`.',
      'There is no event id; the key is made of the transaction and its status.',
      'The secret is the shared secret of the store. Send `hash_algorithm=HMACSHA256` in your requests: notifications with HMACSHA384 or HMACSHA512 are rejected.',
      'Notifications of recurring payments are hashed differently, with `rcpSharedSecret`, and are rejected.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    at: 'form:notification_hash',
    encoding: 'base64',
    content: '{form:chargetotal}|{form:currency}|{form:txndatetime}|{form:storename}|{form:approval_code}',
    covers: 'not-body',
  },
  body: 'form',
  event: {
    key: { hash: ['form:ipgTransactionId', 'form:status'] },
    type: 'form:status',
    objectId: ['form:oid', 'form:ipgTransactionId'],
  },
  acceptedStatus: 200,
})
