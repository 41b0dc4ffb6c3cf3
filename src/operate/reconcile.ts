import type { LedgerTables } from '../ledger/ledger.ts'
import { recordAudit } from '../ledger/read/audit.ts'
import { SECOND_MS } from '../model/durations.ts'
import { HookonceError } from '../model/errors.ts'
import { typeMatcher } from '../model/type-pattern.ts'
import { providerApi } from '../reconcile/api.ts'
import type { ListWindow, OpenList, RecordedSource } from '../reconcile/contract.ts'
import { type ConfiguredList, configuredList } from '../reconcile/open-list.ts'
import { type CheckedOptions, checkReconcileOptions } from '../reconcile/options.ts'
import { missingPages } from './missing-events.ts'
import { type ReconcileReport, type ReportDraft, reportDraft } from './reconcile-report.ts'
import { recordInBatches } from './record-missing.ts'

export type { ReconcileReport, RecordedSource }

type Options = CheckedOptions['options']

/**
 * Reads a provider's list of events and records those that never arrived:
 *
 * open the list → for each page: which events does the ledger lack? → read them → record
 *
 * An event has the same key as its delivery, so events that arrived change nothing, and a later
 * delivery of a recorded one is a duplicate. A failure ends the run but keeps the report; another
 * run continues.
 */
export async function reconcile(
  ledger: LedgerTables,
  source: RecordedSource,
  given: unknown,
): Promise<ReconcileReport> {
  const checked = checkReconcileOptions(source.provider, source.name, given)
  const { options } = checked
  const list = configuredList(checked)
  const window = windowOf(source, options)
  const draft = reportDraft({ source, window, list, mode: options.mode ?? list.defaultMode })
  requireKeys(source, window)
  const signal = options.signal ?? new AbortController().signal
  const api = providerApi({
    url: list.apiUrl,
    headers: list.headers,
    apiKey: options.apiKey,
    signal,
    onWait: (wait) => options.onProgress?.({ ...draft.progress(), wait }),
  })
  try {
    const opened = await list.open(api, window)
    draft.note(...opened.notes)
    requireNarrow({ source, options, list, opened, draft })
    const pages = missingPages(ledger, { source, window, opened, draft })
    await recordInBatches({ source, list, options, pages, draft, signal })
  } catch (error) {
    draft.stop(error, signal)
  }
  try {
    await audit(ledger, source, { ...options, report: draft.report() })
  } catch (error) {
    draft.stop(error, signal)
  }
  return draft.report()
}

function windowOf({ wants }: RecordedSource, { since, until, types }: Options): ListWindow {
  const untilMs = until?.getTime() ?? Date.now()
  if (since.getTime() >= untilMs)
    throw new HookonceError('CONFIG_INVALID', 'reconcile: `since` must be before `until` and before now')
  const matchers = types?.map(typeMatcher)
  return {
    sinceMs: since.getTime(),
    untilMs,
    types: types?.every((type) => !type.includes('*')) ? types : undefined,
    wants: (type) => wants(type) && (matchers?.some((matches) => matches(type)) ?? true),
  }
}

/** An event whose key was pruned would look missing, and take effect again. */
function requireKeys({ name, keySeconds }: RecordedSource, { sinceMs }: ListWindow): void {
  if (Date.now() - sinceMs <= keySeconds * SECOND_MS) return
  throw new HookonceError(
    'CONFIG_INVALID',
    `reconcile: the ledger keeps the keys of "${name}" for ${Math.floor(keySeconds / 86_400)} days: older events may have arrived although their keys are gone, so \`since\` must be later`,
  )
}

interface NarrowQuestion {
  readonly source: RecordedSource
  readonly options: Options
  readonly list: ConfiguredList
  readonly opened: OpenList
  readonly draft: ReportDraft
}

/** A type that no provider has. Subscribers that match it get every type. */
const ANY_TYPE = 'hookonce/any.type'

/** Some lists have types that the provider does not send here. They do not count as missing. */
function requireNarrow({ source, options, list, opened, draft }: NarrowQuestion): void {
  if (list.narrowBy === undefined || opened.sends || options.types || !source.wants(ANY_TYPE)) return
  const fault = `source "${source.name}" takes every type, and ${list.name} lists types that it does not send to you`
  if (draft.mode === 'record')
    throw new HookonceError(
      'CONFIG_INVALID',
      `${fault}: pass ${list.narrowBy}, or only report (\`mode: 'report'\`, --dry-run)`,
    )
  draft.note(`${fault}. Events of these types count as missing: pass ${list.narrowBy}.`)
}

async function audit(
  { pool }: LedgerTables,
  { name, tenant }: RecordedSource,
  { by, why, report }: Pick<Options, 'by' | 'why'> & { readonly report: ReconcileReport },
): Promise<void> {
  const { since, until, missing, recorded } = report
  if (recorded === 0) return
  const detail = { since, until, missing, recorded }
  await recordAudit(pool, { actor: by, action: 'reconcile', why, tenant, subject: name, detail })
}
