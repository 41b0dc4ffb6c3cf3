import { lineLimit } from './line-limit.ts'
import { printable } from './printable.ts'

export type LimitedWarning = (kind: string, text: string) => void

/** `process.emitWarning` for faults that a stranger or an outage can cause: see line-limit.ts. */
export function limitedWarnings(): LimitedWarning {
  const limit = lineLimit()
  return (kind, text) =>
    limit({
      kind,
      write: () => process.emitWarning(printable(text)),
      summarise: (andMore) => process.emitWarning(`${printable(text)} ${andMore}`),
    })
}

/** For code outside of an engine, such as a key store: one limit for the whole process. */
export const limitedWarning = limitedWarnings()
