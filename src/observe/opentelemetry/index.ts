import { z } from 'zod'
import { check, strict } from '../../input/checked.ts'
import type { CustomObserver } from '../observer.ts'
import { instruments } from './instruments.ts'
import { type Api, loadApi, takesMetrics, takesSpans } from './load-api.ts'
import { tracing } from './tracing.ts'

export const openTelemetrySchema = strict({
  names: z
    .enum(['messaging', 'hookonce'])
    .default('messaging')
    .describe(
      "`messaging`: names of spans, attributes and metrics by OpenTelemetry's [semantic conventions for messaging](https://opentelemetry.io/docs/specs/semconv/messaging/). These are not stable yet. `hookonce`: only names that begin with `hookonce.`, which change only with a major version",
    ),
  sender: z
    .enum(['link', 'parent'])
    .default('link')
    .describe(
      "how hookonce uses the sender's `traceparent`. `link`: a delivery begins its own trace and links to the sender's. `parent`: it continues the sender's trace and follows the sender's sampling. Use `parent` if the senders are your own services",
    ),
})

export type OpenTelemetryOptions = z.input<typeof openTelemetrySchema>

/**
 * An observer that traces every event from its delivery to its messages, over all processes, and
 * measures durations, with the SDK of OpenTelemetry that this process has started before. Does
 * nothing if no SDK was started, or if `@opentelemetry/api` is not installed.
 *
 * ```ts
 * const hooks = hookonce({ sources, observers: [openTelemetry()] })
 * ```
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): CustomObserver {
  const checked = check(openTelemetrySchema, options, 'openTelemetry()')
  const api = loadApi()
  if (!api) return NOTHING
  const traces = takesSpans(api) ? tracing(api, checked) : undefined
  const measures = takesMetrics(api) ? instruments(api, checked.names) : undefined
  if (!traces && !measures) {
    warnOfLateSdk(api)
    return NOTHING
  }
  if (!traces || !measures) return traces ?? measures ?? NOTHING
  return {
    ...traces,
    delivery(fact) {
      traces.delivery(fact)
      measures.delivery(fact)
    },
    attempt(fact) {
      traces.attempt(fact)
      measures.attempt(fact)
    },
    message: measures.message,
  }
}

/** Its only member is called at most once, so nothing is prepared for it. */
const NOTHING: CustomObserver = { warning: () => undefined }

/**
 * Warns about an SDK that starts within this time, because its owner probably wants it to trace
 * hookonce too.
 */
const LATE_MS = 5_000

function warnOfLateSdk(api: Api): void {
  setTimeout(() => {
    if (!takesSpans(api) && !takesMetrics(api)) return
    process.emitWarning(
      'the SDK of OpenTelemetry was started after openTelemetry() was called, so hookonce reports nothing to it; start the SDK first, for example with `node --import ./tracing.mjs`',
    )
  }, LATE_MS).unref()
}
