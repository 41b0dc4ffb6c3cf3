import type { Auth, Destination } from './destination.ts'

const MASK = '…'

/**
 * Masks the secrets of a destination in its own response. Servers that are being debugged answer
 * with the request that they got, and errors quote the answer.
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

/** As they were written, and as they are meant. */
function queryValues(search: string): string[] {
  const written = search
    .slice(1)
    .split('&')
    .map((pair) => pair.slice(pair.indexOf('=') + 1))
  return [...written, ...new URLSearchParams(search).values()]
}

/** Fewer characters of a secret are of no use, and any text may end with them. */
const LEAST_CHARS = 4

/** The quote is cut at its limit, perhaps in the middle of a secret. */
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
