import type { ItemOf } from 'hookonce/client'
import { searchOf } from '../../search/tokens.ts'

/* Which open alerts the overview shows, and the page that each of them leads to. */

type Alert = Pick<ItemOf<'/alerts'>, 'rule' | 'tenant' | 'source' | 'subscriber'>

/** The rejections that the rule `signatures` counts. The source may be `tenant/name`. */
export function isUnsigned({ code }: { readonly code: string }): boolean {
  return code.startsWith('SIGNATURE_') || code.startsWith('TIMESTAMP_')
}

/** The rows that are read from the ledger itself, with more detail than an alert has. */
export interface ReadRows {
  readonly attention: readonly unknown[]
  readonly failures: readonly unknown[]
  readonly circuits: readonly { readonly tenant: string; readonly subscriber: string }[]
  readonly rejections: readonly { readonly source: string }[]
}

/** Whether another row already shows the condition of this alert. */
export function isShown({ rule, tenant, source, subscriber }: Alert, rows: ReadRows): boolean {
  switch (rule) {
    case 'attention':
      return rows.attention.length > 0
    case 'failures':
      return rows.failures.length > 0
    case 'circuit':
      return rows.circuits.some((one) => one.tenant === tenant && one.subscriber === subscriber)
    case 'signatures':
      return rows.rejections.some((one) => [source, `${tenant}/${source}`].includes(one.source))
    default:
      return false
  }
}

export interface Target {
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
}

/** The page that shows what an alert is about. */
export function targetOf({ rule, tenant, source, subscriber }: Alert): Target {
  const tenantPart = tenant === 'default' ? {} : { tenant }
  const search = (state?: string): Target => {
    const filter = { ...tenantPart, source, ...(state === undefined ? {} : { subscriber, state }) }
    return { path: '/events', query: { q: searchOf(filter) } }
  }
  switch (rule) {
    case 'attention':
      return { path: '/attention' }
    case 'failures':
      return { path: '/failures' }
    case 'circuit':
      return { path: '/destinations' }
    case 'signatures':
      return { path: '/rejections' }
    case 'retries':
      return search('retrying')
    case 'lag':
      return search('received')
    case 'silence':
    case 'duplicates':
      return search()
    default:
      return { path: '/settings', query: { tab: 'alerts' } }
  }
}
