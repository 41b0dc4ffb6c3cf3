import type { Delivery } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'

/**
 * Whether the signature is in another version of its header: `x-hub-signature` for
 * `x-hub-signature-256`.
 */
export function olderHeader(delivery: Delivery, { signature }: CheckedDescription): string | undefined {
  if (!('header' in signature)) return undefined
  for (const name of [signature.header ?? []].flat()) {
    const other = versionsOf(name).find((version) => delivery.header(version) !== undefined)
    if (other !== undefined)
      return `another version of the scheme: the header ${other} is present, but ${name} is missing; configure the sender to send ${name}`
  }
  return undefined
}

function versionsOf(name: string): string[] {
  const bare = name.replace(/-(?:v\d+|\d+)$/, '')
  const versions = ['', '-v1', '-v2', '-v3', '-256'].map((ending) => bare + ending)
  return versions.filter((version) => version !== name)
}
