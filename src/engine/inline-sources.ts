import type { Diagnoses } from '../delivery/diagnoses.ts'
import type { Doors } from '../delivery/doors.ts'
import { type InlineHandler, inlineDoors } from '../inline/inline.ts'
import { ledgerKeys } from '../inline/ledger-keys.ts'
import type { InlineOptions } from '../inline/options.ts'
import { inlineReports } from '../inline/reports.ts'
import { setSchema } from '../ledger/driver/schema.ts'
import type { Queryable } from '../ledger/driver/statement.ts'
import { HookonceError } from '../model/errors.ts'
import { DEFAULT_SCHEMA } from '../model/schema-name.ts'
import type { Observer } from '../observe/observer.ts'
import type { CheckedOptions } from '../options.ts'
import { rejectionLog } from '../receive/rejections.ts'
import { sourceNamed } from '../subscription.ts'
import type { OpenStages } from './open.ts'
import { tracedReceiver } from './traced.ts'

/** Without a key store, the keys are kept in the ledger's database. */
export type InlineSourceOptions = Omit<InlineOptions, 'store' | 'name'> &
  Partial<Pick<InlineOptions, 'store'>>

/** The sources whose events are handled inside their requests. */
export interface InlineSources {
  readonly names: ReadonlySet<string>
  add(name: string, handler: InlineHandler, options: InlineSourceOptions): Doors
  /** Finishes the diagnoses of refused deliveries, and records the refusals. */
  stopReports(): Promise<void>
  /** Without an open ledger, refusals are not recorded. */
  dropReports(): void
  close(): Promise<void>
}

interface InlineSourcesOptions {
  readonly open: () => Promise<OpenStages>
  /** Like `open`. While the engine stops, it returns the ledger only if it is already open. */
  readonly openOrStopping: () => Promise<OpenStages>
  readonly options: CheckedOptions
  readonly observer: Observer
}

export function inlineSources({
  open,
  openOrStopping,
  options,
  observer,
}: InlineSourcesOptions): InlineSources {
  const names = new Set<string>()
  const keys = ledgerKeys(async () => {
    const { ledger } = await open()
    const { schema, prepare, migrate } = options
    // A second ledger in the same database may have sources with the same names.
    const table = schema === DEFAULT_SCHEMA ? undefined : `${schema}.inline_key`
    return { database: ledger.business, prepare, migrate, table }
  })
  // Opens the ledger at most once per second, unless it is already open.
  const whenOpen: Queryable = {
    query: async (query) => (await openOrStopping()).ledger.pool.query(query),
  }
  const rejections = rejectionLog(setSchema(whenOpen, options.schema), observer)
  const sources = Object.entries(options.sources).map(([name, source]) => ({ name, source }))
  const started: Diagnoses[] = []
  return {
    names,
    add(name, handler, inlineOptions) {
      const where = `.inline('${name}')`
      const source = sourceNamed(options, name, where)
      if (Object.hasOwn(options.sourceLimits, name)) {
        const fault = `sourceLimits.${name} does not apply to an inline source: pass its limits to ${where}`
        throw new HookonceError('CONFIG_INVALID', fault)
      }
      names.add(name)
      // A source with its own store must not open the ledger, so its refusals are only logged.
      const reports = inlineReports(sources, observer, inlineOptions.store ? undefined : rejections)
      started.push(reports.diagnoses)
      return inlineDoors(where, {
        source,
        handler,
        options: {
          store: keys,
          observe: (event) =>
            'error' in event && observer.trouble({ doing: `${where}: ${event.what}`, error: event.error }),
          ...inlineOptions,
          name,
        },
        reports,
        wrap: (receiver) => tracedReceiver(receiver, observer),
      })
    },
    async stopReports() {
      for (const diagnoses of started) await diagnoses.idle()
      await rejections.stop()
    },
    dropReports: () => rejections.drop(),
    close: () => keys.close(),
  }
}
