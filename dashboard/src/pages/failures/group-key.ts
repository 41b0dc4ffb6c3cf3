import type { ItemOf } from 'hookonce/client'

/** Names a group of failures in the address of the page: `?group=`. */
export function keyOfGroup({
  tenant,
  source,
  subscriber,
  fingerprint,
}: Pick<ItemOf<'/failures'>, 'tenant' | 'source' | 'subscriber' | 'fingerprint'>): string {
  return [tenant, source, subscriber, fingerprint].join(' ')
}
