/*
 * A source is configured under its name, or under `tenant/name` if several tenants have a source of
 * the same name. The ledger stores tenant and name in columns of their own.
 */

/** The name under which the ledger stores a source. */
export function sourceNameOf(key: string): string {
  return key.slice(key.indexOf('/') + 1)
}

/** The tenant in the key. Undefined for a key that is only a name. */
export function tenantOf(key: string): string | undefined {
  const cut = key.indexOf('/')
  return cut < 0 ? undefined : key.slice(0, cut)
}
