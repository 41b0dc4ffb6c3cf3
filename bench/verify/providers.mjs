// @ts-check
import '../product.mjs'

const { findProvider, providerIds } = await import('../../dist/sources/index.js')
const { checkDescription } = await import('../../dist/sources/description.js')
const { sampleOf } = await import('../../dist/sources/sample.js')

const SECRET = '5ec5e7'.repeat(8)

/**
 * The providers that sign with an HMAC, each with a genuine delivery of about this many bytes.
 * @param {number} bytes
 * @param {readonly string[] | undefined} wanted
 */
export async function everyHmacProvider(bytes, wanted) {
  const listed = []
  for (const id of wanted ?? providerIds) {
    const make = await findProvider(id)
    if (make === undefined) throw new Error(`no provider is named "${id}"`)
    const description = checkDescription(make.description)
    const { algorithm } = description.signature
    if (!algorithm.startsWith('hmac-')) continue
    const settings = Object.fromEntries(
      Object.keys(description.settings).map((name) => [name, `the-${name}`]),
    )
    const source = make({
      secret: SECRET,
      url: 'https://example.com/in/x',
      settings,
      toleranceSeconds: undefined,
    })
    const event = { key: 'evt_1', type: 'thing.made', objectId: 'obj_1', occurredAtMs: Date.now() }
    const { headers, body } = sampleOf(description, [event])
    const signed = source.deliver({ headers, body: padded(body, bytes) })
    /** @type {Record<string, string>} */
    const lookup = signed.headers
    const delivery = {
      method: 'POST',
      url: signed.url,
      header: (/** @type {string} */ name) => lookup[name],
      body: signed.body,
      receivedAtMs: Date.now(),
    }
    const verified = source.verify(delivery)
    if (!verified.ok) throw new Error(`${id}: the sample is refused: ${verified.detail}`)
    listed.push({ id, algorithm, source, delivery, secret: SECRET })
  }
  return listed
}

/**
 * JSON may end with white space.
 * @param {Uint8Array | string} body
 * @param {number} bytes
 */
function padded(body, bytes) {
  return String(body).padEnd(bytes, ' ')
}
