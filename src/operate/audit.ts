import type { LedgerTables } from '../ledger/ledger.ts'
import { isSet, type LedgerSet, type Ledgers } from '../ledger/ledger-set.ts'
import { type ListedAudit, readAudit, recordAudit } from '../ledger/read/audit.ts'
import { HookonceError } from '../model/errors.ts'
import { askAll, whereTenant } from './across.ts'
import { checkLimit } from './page.ts'

export type { ListedAudit }

export interface AuditQuery {
  readonly tenant?: string | undefined
  readonly limit: number
  /** The id of an entry, or `next` of a page: the list continues after it. */
  readonly after?: string | undefined
  /** `previous` of a page: lists the entries before it. */
  readonly before?: string | undefined
}

export interface AuditPage {
  /** The newest first. */
  readonly entries: readonly ListedAudit[]
  /** The start of the next page. Undefined: there is none. */
  readonly next: string | undefined
  /** The start of the previous page. Undefined on the first page. */
  readonly previous?: string | undefined
}

async function auditIn(
  { pool }: LedgerTables,
  { tenant, limit, after, before }: AuditQuery,
): Promise<AuditPage> {
  checkLimit(limit)
  for (const id of [after, before]) requireId(id)
  // One extra row shows whether there is another page.
  const found = await readAudit(pool, { tenant, after, before, limit: limit + 1 })
  const hasMore = found.length > limit
  const entries = found.slice(0, limit)
  if (before !== undefined) {
    entries.reverse()
    const previous = hasMore ? entries[0]?.id : undefined
    return { entries, next: entries.at(-1)?.id ?? String(BigInt(before) + 1n), previous }
  }
  const previous = after === undefined ? undefined : (entries[0]?.id ?? '0')
  return { entries, next: hasMore ? entries.at(-1)?.id : undefined, previous }
}

/** Lists the decisions of operators: who, when, what, why and from which address. */
export async function listAudit(ledgers: Ledgers, query: AuditQuery): Promise<AuditPage> {
  if (!isSet(ledgers)) return auditIn(ledgers, query)
  return auditAcross(ledgers, query)
}

/** Ids of entries are numbers within one ledger, so a position has one id per ledger. */
async function auditAcross(set: LedgerSet, query: AuditQuery): Promise<AuditPage> {
  const { after, before, limit } = query
  const isBack = before !== undefined
  const given = positionsIn(isBack ? before : after)
  const pages = await askAll(set, (tables, ledger) => {
    const from = given?.[ledger]
    const place = isBack ? { before: from ?? '0' } : { after: from }
    return auditIn(tables, { ...query, after: undefined, before: undefined, ...place })
  })
  const all = pages
    .flatMap(({ ledger, answer }) => answer.entries.map((entry) => ({ ledger, entry })))
    .sort((a, b) => (isBack ? -1 : 1) * (b.entry.at.getTime() - a.entry.at.getTime()))
  const shown = all.slice(0, limit)
  if (isBack) shown.reverse()
  const ends = (end: (own: readonly ListedAudit[]) => ListedAudit | undefined): string =>
    set.members
      .flatMap(({ name }) => {
        const own = shown.filter(({ ledger }) => ledger === name).map(({ entry }) => entry)
        const id = end(own)?.id ?? given?.[name]
        return id === undefined ? [] : [`${name}=${id}`]
      })
      .join(' ')
  const hasMore =
    all.length > limit || pages.some(({ answer }) => (isBack ? answer.previous : answer.next) !== undefined)
  const next = isBack || hasMore ? ends((own) => own.at(-1)) : undefined
  const previous = (isBack ? hasMore : after !== undefined) ? ends((own) => own[0]) : undefined
  return {
    entries: shown.map(({ ledger, entry }) => ({ ...entry, id: `${ledger}/${entry.id}` })),
    next,
    previous,
  }
}

function positionsIn(cursor: string | undefined): Readonly<Record<string, string>> | undefined {
  if (cursor === undefined) return undefined
  const found = cursor.split(' ').map((position) => /^([a-z0-9_]{1,30})=(\d{1,18})$/.exec(position))
  if (found.every((one) => one !== null))
    return Object.fromEntries(found.map((one) => [one?.[1] ?? '', one?.[2] ?? '']))
  throw new HookonceError(
    'CURSOR_INVALID',
    `"${cursor.slice(0, 100)}" is not a position of this list: pass \`next\` or \`previous\` of a page`,
  )
}

function requireId(id: string | undefined): void {
  if (id === undefined || /^\d{1,18}$/.test(id)) return
  throw new HookonceError('CONFIG_INVALID', `"${id}" is not an id of the audit: pass \`id\` or \`next\``)
}

/** The actor and the reason. The audit records both. */
export interface DecisionReason {
  readonly by: string
  readonly why: string
  /** The address of an HTTP client. */
  readonly address?: string | undefined
}

/**
 * The data that a person viewed: the body of an event or message, or the headers and results of an
 * event.
 */
export interface Look {
  /** The id of the receipt or message. */
  readonly id: string
  readonly tenant: string
  readonly action: 'read-body' | 'read-headers'
}

async function recordLookIn(
  { pool }: LedgerTables,
  { id, tenant, action }: Look,
  { by, why, address }: DecisionReason,
): Promise<void> {
  await recordAudit(pool, { actor: by, action, why, tenant, subject: id, detail: {}, address })
}

export const recordLook = whereTenant(([{ tenant }]) => tenant, recordLookIn)

/** `decision` names the action that requires a reason: "a fresh replay". */
export function requireReason({ by, why }: DecisionReason, decision: string): void {
  if (by.trim() !== '' && why.trim() !== '') return
  throw new HookonceError('CONFIG_INVALID', `${decision} needs \`by\` and \`why\`: who decides, and why`)
}
