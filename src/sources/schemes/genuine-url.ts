/**
 * Accepts an address from an unverified request only if it is plain https at a host of the
 * provider: no port, no credentials.
 */
export function genuineUrl(address: unknown, host: RegExp | string): URL | undefined {
  if (typeof address !== 'string' || address.length > 2_000 || !URL.canParse(address)) return undefined
  const url = new URL(address)
  const isPlain = url.protocol === 'https:' && url.port === '' && url.username === '' && url.password === ''
  const isKnown = typeof host === 'string' ? host === url.hostname : host.test(url.hostname)
  return isPlain && isKnown ? url : undefined
}
