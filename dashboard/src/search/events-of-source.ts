import { href } from '../router.ts'
import { searchOf } from './tokens.ts'

interface Named {
  readonly source: string
  readonly tenant: string
}

/**
 * The address of the events of one source. It names the tenant if the list has several tenants,
 * because two of them may have a source of the same name.
 */
export function eventsOfSource({ source, tenant }: Named, all: readonly Named[]): string {
  const isOneOfSeveral = all.some((one) => one.tenant !== tenant)
  const isNamed = isOneOfSeveral || tenant !== 'default'
  return href('/events', { q: searchOf(isNamed ? { source, tenant } : { source }) })
}
