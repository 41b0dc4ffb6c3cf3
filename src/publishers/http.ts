import type { z } from 'zod'
import { secretsOfQuery } from '../http/mask.ts'
import { post } from '../http/post.ts'
import { targetSecret, targetUrl } from '../http/target.ts'
import { check, strict } from '../input/checked.ts'
import { standardWebhooks } from '../sources/catalogue/standard-webhooks.ts'
import type { Publish } from './contract.ts'

const schema = strict({
  url: targetUrl,
  /** `whsec_…`: signs each request, as in Standard Webhooks. */
  secret: targetSecret,
})

/**
 * Posts each message, signed as in Standard Webhooks, with its id as `webhook-id` and
 * `idempotency-key`. A 2xx acknowledges it; anything else is retried. If the response is lost, the
 * message is posted again: the receiver must remember the id.
 *
 * ```ts
 * const url = 'https://app.example/messages'
 * const secret = process.env.MESSAGE_SECRET
 * hookonce({ sources, publishers: { 'invoice.*': toHttp({ url, secret }) } })
 * ```
 */
export function toHttp(options: z.input<typeof schema>): Publish {
  const { url, secret } = check(schema, options, 'toHttp()')
  // The query may hold a token, and errors are stored and logged.
  const shownUrl = url.replace(/[?#].*$/s, '')
  const secrets = secretsOfQuery(url)
  const signer = standardWebhooks({ secret })
  return async ({ id, topic, key, headers, body }, { signal }) => {
    const bytes = Buffer.from(body)
    await post({
      url,
      shownUrl,
      secrets,
      headers: {
        ...lowerCased(headers),
        ...signer.sign({ body: bytes, id }),
        'idempotency-key': id,
        'hookonce-topic': topic,
        ...(key === undefined ? {} : { 'hookonce-key': encodeURIComponent(key) }),
      },
      body: bytes,
      signal,
      isPrivate: true,
      failure: 'PUBLISH_FAILED',
    })
  }
}

// In lower case, so that a header of the message cannot repeat a header of hookonce in another
// spelling.
function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
