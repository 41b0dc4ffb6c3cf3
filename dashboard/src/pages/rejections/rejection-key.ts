import type { ItemOf } from 'hookonce/client'

/** Names a reason of rejections in the address of the page: `?of=`. */
export function keyOfRejection({ source, code }: Pick<ItemOf<'/rejections'>, 'source' | 'code'>): string {
  return `${source} ${code}`
}
