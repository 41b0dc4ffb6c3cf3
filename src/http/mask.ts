const MASK = '…'

/** A shorter part of a secret is useless to an attacker, and any text may end with it. */
const LEAST_CHARS = 4

/**
 * Masks secrets in the response of another server. Servers in debug mode may echo the request, and
 * errors quote the response.
 */
export function maskOf(secrets: readonly string[]): (text: string) => string {
  const long = secrets.filter((one) => one.length >= LEAST_CHARS)
  return (text) => long.reduce((masked, one) => withoutBeginning(masked.replaceAll(one, MASK), one), text)
}

/** The query of a URL and its values, in the written and in the decoded form. */
export function secretsOfQuery(url: string): string[] {
  const { search } = new URL(url)
  const written = search
    .slice(1)
    .split('&')
    .map((pair) => pair.slice(pair.indexOf('=') + 1))
  return [search, ...written, ...new URLSearchParams(search).values()]
}

/** The path of a URL and its parts, from the longest. */
export function secretsOfPath(url: string): string[] {
  const { pathname } = new URL(url)
  return [pathname, ...pathname.split('/')].toSorted((a, b) => b.length - a.length)
}

/** The quote is truncated at its limit, perhaps in the middle of a secret. */
function withoutBeginning(text: string, secret: string): string {
  for (let length = Math.min(secret.length, text.length) - 1; length >= LEAST_CHARS; length -= 1)
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + MASK
  return text
}
