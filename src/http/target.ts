import { z } from 'zod'

/*
 * The target of a POST: a URL, and the secret that signs each request. Both are checked with the
 * options.
 */

/** Rejects `user:password@`: fetch() does not accept it, and errors and logs name the URL. */
export const targetUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).refine(
  (text) => {
    // The URL check already reports a text that is not a URL.
    if (!URL.canParse(text)) return true
    const { username, password } = new URL(text)
    return username === '' && password === ''
  },
  { error: 'must not contain a user or password: requests are signed with the secret instead' },
)

/** The minimum of Standard Webhooks: 192 bits. */
const MIN_SECRET_BYTES = 24
const MAKE_ONE = 'make one with: echo "whsec_$(openssl rand -base64 32)"'

/** `whsec_<base64>`, as in Standard Webhooks. Errors do not quote the secret. */
export const targetSecret = z.string().superRefine((text, context) => {
  const base64 = text.replace(/^whsec_/, '')
  const complain = (message: string): void => void context.addIssue({ code: 'custom', message })
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return complain(`expected whsec_<base64>; ${MAKE_ONE}`)
  const bytes = Buffer.from(base64, 'base64').length
  if (bytes < MIN_SECRET_BYTES)
    complain(`the secret has ${bytes} bytes, and needs at least ${MIN_SECRET_BYTES}; ${MAKE_ONE}`)
})
