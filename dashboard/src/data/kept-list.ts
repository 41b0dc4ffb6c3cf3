import { session } from '../api.ts'
import { place } from '../router.ts'
import type { Listed } from './merge-pages.ts'

/*
 * The list that was in view last. The back button shows it at once, where it was left: whoever looks
 * at one event after the other keeps the place.
 */

/** Where a list is scrolled to, and the row under the keyboard. */
export interface ListPosition {
  top: number
  activeKey: string | undefined
}

interface KeptList<Item> {
  /** Two searches are two lists. */
  readonly name: string
  readonly listed: Listed<Item>
  readonly position: ListPosition
}

let kept: { readonly list: KeptList<unknown>; readonly owner: unknown } | undefined

export function keepList<Item>(list: KeptList<Item>): void {
  kept = { list, owner: session.peek() }
}

/** Undefined: this page was not reached by going back, or another list was in view last. */
export function keptList<Item>(name: string): KeptList<Item> | undefined {
  if (kept === undefined || kept.list.name !== name || !place.peek().isReturn) return undefined
  // Whoever logs in must not see what another session has read.
  return kept.owner === session.peek() ? (kept.list as KeptList<Item>) : undefined
}
