import type { GatewayServer } from '../gateway/server.ts'
import type { Hookonce } from '../hookonce.ts'
import type { Sources } from '../options.ts'

/** Runs until it is told to stop; a second signal does not wait for the drain. */
export async function untilStopped(hooks: Hookonce<Sources>, server: GatewayServer): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        resolve()
        process.once(signal, () => process.exit(1))
      })
    }
  })
  await server.close()
  await hooks.stop()
}
