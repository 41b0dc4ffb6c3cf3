import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export type Api = typeof import('@opentelemetry/api')

const PACKAGE = '@opentelemetry/api'

/**
 * The API of OpenTelemetry, or undefined if it is not installed. All copies of it in a process
 * share their state, so it does not matter which copy the application uses.
 */
export function loadApi(): Api | undefined {
  // A globally installed gateway uses the copy in its working directory.
  const places = [import.meta.url, pathToFileURL(join(process.cwd(), 'package.json')).href]
  for (const place of places) {
    try {
      return createRequire(place)(PACKAGE) as Api
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }
  return undefined
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND'
}

/** Whether an SDK accepts spans. Without one, the API has a tracer that records nothing. */
export function takesSpans({ trace }: Api): boolean {
  const provider = trace.getTracerProvider()
  // Checked by its shape: the provider may come from another copy of the API.
  if (!('getDelegateTracer' in provider) || typeof provider.getDelegateTracer !== 'function') return true
  return provider.getDelegateTracer('hookonce') !== undefined
}

/** Whether an SDK accepts metrics. */
export function takesMetrics({ metrics, createNoopMeter }: Api): boolean {
  return metrics.getMeter('hookonce').constructor.name !== createNoopMeter().constructor.name
}
