import { type Diagnoses, type DiagnosisLog, diagnoses } from '../delivery/diagnoses.ts'
import type { RefusalLog } from '../delivery/refuse.ts'
import { limitedWarning } from '../observe/limited-warning.ts'
import type { Observer } from '../observe/observer.ts'
import type { NamedSource } from '../sources/contract.ts'

/**
 * The reports of an inline receiver about deliveries and refusals. The code that mounts the
 * receiver provides them.
 */
export interface InlineReports {
  readonly observer: Pick<Observer, 'delivery' | 'diagnosis' | 'trouble' | 'warning'>
  readonly log: RefusalLog
  readonly diagnoses: Diagnoses
}

/** A key store keeps no refusals. */
const NO_LOG: RefusalLog & DiagnosisLog = { add: () => undefined, explain: () => undefined }

/** `sources`: a diagnosis tries their secrets. */
export function inlineReports(
  sources: readonly NamedSource[],
  observer: InlineReports['observer'],
  log = NO_LOG,
): InlineReports {
  return { observer, log, diagnoses: diagnoses(sources, log, observer) }
}

/** Without hookonce() there is no logger, so refusals become process warnings. */
export function standaloneReports(source: NamedSource): InlineReports {
  return inlineReports([source], WARNINGS)
}

const WARNINGS: InlineReports['observer'] = {
  delivery({ source, outcome, code, detail }) {
    // The refusals of a run have no detail, because `observe` gets their errors.
    if (detail === undefined || (outcome !== 'rejected' && outcome !== 'shadowed')) return
    const verb = outcome === 'rejected' ? 'was refused' : 'would be refused without shadow mode'
    limitedWarning(
      `inline ${source} ${code}`,
      `hookonce: a delivery of "${source}" ${verb}: ${code}: ${detail}`,
    )
  },
  diagnosis({ source, code, diagnosis }) {
    limitedWarning(
      `inline diagnosis ${source}`,
      `hookonce: diagnosis of a refused delivery of "${source}": ${code}: ${diagnosis}`,
    )
  },
  trouble({ doing, error }) {
    limitedWarning(`inline ${doing}`, `hookonce: ${doing}: ${String(error)}`)
  },
  warning({ message, detail }) {
    limitedWarning(`inline ${message}`, `hookonce: ${message}; ${detail}`)
  },
}
