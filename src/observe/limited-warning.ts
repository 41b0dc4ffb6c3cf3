import { lineLimit } from './line-limit.ts'

/** Warnings belong to the process, and so does their limit. */
const limit = lineLimit()

/** `process.emitWarning` for what a stranger or an outage can cause: see line-limit.ts. */
export function limitedWarning(kind: string, text: string): void {
  limit({
    kind,
    write: () => process.emitWarning(text),
    summarise: (andMore) => process.emitWarning(`${text} ${andMore}`),
  })
}
