import type { Auth, Destination } from './destination.ts'

const MASK = '…'

/**
 * Masks the secrets of a destination in its own response. Servers in debug mode may echo the
 * request, and errors quote the response.
 */
export function secretMask({
  secret,
  auth,
  url,
}: Pick<Destination, 'secret' | 'auth' | 'url'>): (text: string) => string {
  const { search } = new URL(url)
  const secrets = [secret, auth ? secretsIn(auth) : [], search, queryValues(search)]
    .flat()
    .filter((one) => one.length >= LEAST_CHARS)
  return (text) => secrets.reduce((masked, one) => withoutBeginning(masked.replaceAll(one, MASK), one), text)
}

/** In the written and in the decoded form. */
function queryValues(search: string): string[] {
  const written = search
    .slice(1)
    .split('&')
    .map((pair) => pair.slice(pair.indexOf('=') + 1))
  return [...written, ...new URLSearchParams(search).values()]
}

/** A shorter part of a secret is useless to an attacker, and any text may end with it. */
const LEAST_CHARS = 4

/** The quote is truncated at its limit, perhaps in the middle of a secret. */
function withoutBeginning(text: string, secret: string): string {
  for (let length = Math.min(secret.length, text.length) - 1; length >= LEAST_CHARS; length -= 1)
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + MASK
  return text
}

function secretsIn(auth: Auth): string[] {
  switch (auth.type) {
    case 'bearer':
      return [auth.token]
    case 'basic':
      return [auth.password, Buffer.from(`${auth.username}:${auth.password}`).toString('base64')]
    case 'header':
      return [auth.value]
  }
}
