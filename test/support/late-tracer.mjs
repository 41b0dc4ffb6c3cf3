// Calls openTelemetry() before it starts the SDK. Runs on the built package.
import { openTelemetry } from '../../dist/observe/opentelemetry/index.js'

process.on('warning', ({ message }) => process.stdout.write(`${JSON.stringify({ warning: message })}\n`))
openTelemetry()
await import('./file-tracer.mjs')
// Keeps the process alive until the test ends it.
setInterval(() => undefined, 1_000)
