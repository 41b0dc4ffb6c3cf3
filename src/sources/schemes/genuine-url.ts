/** An https address at a host of the provider itself, from what a stranger sent: no port, no user, nothing odd. */
export function genuineUrl(address: unknown, host: RegExp): URL | undefined {
  if (typeof address !== 'string' || address.length > 2_000 || !URL.canParse(address)) return undefined
  const url = new URL(address)
  const isPlain = url.protocol === 'https:' && url.port === '' && url.username === '' && url.password === ''
  return isPlain && host.test(url.hostname) ? url : undefined
}
