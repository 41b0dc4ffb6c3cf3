import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from './cli.ts'

/* The telemetry that the processes of a test exported: see file-tracer.mjs. */

export interface ExportedSpan {
  readonly pid: number
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parent?: string
  readonly tracestate?: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly links: readonly string[]
  readonly status: { readonly code: number }
  readonly events: readonly { readonly name: string; readonly attributes: Record<string, unknown> }[]
}

export interface ExportedMetric {
  readonly metric: string
  readonly points: readonly Readonly<Record<string, unknown>>[]
}

export interface TelemetryFile {
  /** For processes that start file-tracer.mjs themselves. */
  readonly env: Record<string, string>
  /** For processes that do not start it themselves. */
  readonly preloadEnv: Record<string, string>
  text(): string
  spans(): ExportedSpan[]
  metrics(): ExportedMetric[]
}

const TRACER = fileURLToPath(new URL('./file-tracer.mjs', import.meta.url))

export function telemetryFile(): TelemetryFile {
  const file = join(temporaryDirectory(), 'telemetry.jsonl')
  const env = { TELEMETRY_FILE: file }
  const text = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  const lines = (): object[] =>
    text()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as object)
  return {
    env,
    preloadEnv: { ...env, NODE_OPTIONS: `--import ${TRACER}` },
    text,
    spans: () => lines().filter((line): line is ExportedSpan => 'spanId' in line),
    metrics: () => lines().filter((line): line is ExportedMetric => 'metric' in line),
  }
}
