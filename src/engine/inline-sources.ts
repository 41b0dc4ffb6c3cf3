import { type Inline, type InlineHandler, inlineAs } from '../inline/inline.ts'
import { ledgerKeys } from '../inline/ledger-keys.ts'
import type { InlineOptions } from '../inline/options.ts'
import type { Observer } from '../observe/observer.ts'
import type { CheckedOptions } from '../options.ts'
import { sourceNamed } from '../subscription.ts'
import type { OpenStages } from './open.ts'

/** Without a key store, the keys are kept in the ledger's database. */
export type InlineSourceOptions = Omit<InlineOptions, 'store' | 'name'> &
  Partial<Pick<InlineOptions, 'store'>>

/** The sources whose events are handled inside their requests. */
export interface InlineSources {
  readonly names: ReadonlySet<string>
  add(name: string, handler: InlineHandler, options: InlineSourceOptions): Inline
  close(): Promise<void>
}

interface InlineSourcesOptions {
  readonly open: () => Promise<OpenStages>
  readonly options: CheckedOptions
  readonly observer: Observer
}

export function inlineSources({ open, options, observer }: InlineSourcesOptions): InlineSources {
  const names = new Set<string>()
  const keys = ledgerKeys(async () => {
    const { ledger } = await open()
    return { database: ledger.business, prepare: options.prepare, migrate: options.migrate }
  })
  return {
    names,
    add(name, handler, inlineOptions) {
      const where = `.inline('${name}')`
      const source = sourceNamed(options, name, where)
      names.add(name)
      return inlineAs(where, {
        source,
        handler,
        options: {
          store: keys,
          observe: (event) =>
            'error' in event && observer.trouble({ doing: `${where}: ${event.what}`, error: event.error }),
          ...inlineOptions,
          name,
        },
        tell: (fact) => observer.delivery({ source: name, durationMs: 0, ...fact }),
      })
    },
    close: () => keys.close(),
  }
}
