import { session } from '../api.ts'
import { place } from '../router.ts'
import type { Listed } from './merge-pages.ts'

/*
 * The list that was in view last. The back button shows it at once, at the same place, so a user
 * who opens one event after the other does not lose the place.
 */

/** The scroll position of a list, and the row under the keyboard. */
export interface ListPosition {
  top: number
  activeKey: string | undefined
}

interface KeptList<Item> {
  /** Each search has its own list. */
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
  // A user who logs in must not see data that another session has read.
  return kept.owner === session.peek() ? (kept.list as KeptList<Item>) : undefined
}
