import type { App } from './app.ts'

/** Restarts the app whenever it dies, like an orchestrator. */
export interface Supervised {
  readonly deaths: number
  stop(): Promise<void>
}

export function supervise(first: App, start: () => Promise<App>): Supervised {
  let stopped = false
  let deaths = 0
  let current = first
  const watching = (async () => {
    for (;;) {
      await current.exited()
      if (stopped) return
      deaths += 1
      current = await start()
      if (stopped) return current.kill('SIGKILL')
    }
  })()
  return {
    get deaths() {
      return deaths
    },
    async stop() {
      stopped = true
      current.kill('SIGKILL')
      await watching
    },
  }
}
