import { z } from 'zod'

/*
 * Whom we post to: a URL, and the secret that signs what is sent. Both are checked when they are
 * given.
 */

/**
 * `user:password@` is refused: fetch() takes no such URL, and the URL is named in errors and logs.
 */
export const targetUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).refine(
  (text) => {
    // What is no URL at all has its error already.
    if (!URL.canParse(text)) return true
    const { username, password } = new URL(text)
    return username === '' && password === ''
  },
  { error: 'must not hold a user or password: what is sent is signed with the secret instead' },
)

/** As many as Standard Webhooks ask for: 192 bits. */
const MIN_SECRET_BYTES = 24
const MAKE_ONE = 'make one with: echo "whsec_$(openssl rand -base64 32)"'

/** `whsec_<base64>`, as Standard Webhooks have it. What is wrong is said without the secret. */
export const targetSecret = z.string().superRefine((text, context) => {
  const base64 = text.replace(/^whsec_/, '')
  const complain = (message: string): void => void context.addIssue({ code: 'custom', message })
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return complain(`expected whsec_<base64>; ${MAKE_ONE}`)
  const bytes = Buffer.from(base64, 'base64').length
  if (bytes < MIN_SECRET_BYTES)
    complain(`the secret has ${bytes} bytes, and needs at least ${MIN_SECRET_BYTES}; ${MAKE_ONE}`)
})
