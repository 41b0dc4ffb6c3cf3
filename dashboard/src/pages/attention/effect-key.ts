import type { ItemOf } from 'hookonce/client'

/** Names an effect in the address of the page: `?effect=`. */
export function keyOfEffect({ tenant, key }: Pick<ItemOf<'/attention'>, 'tenant' | 'key'>): string {
  return tenant === 'default' ? key : `${tenant} ${key}`
}
