import { hookonce } from 'hookonce'
import { custom } from 'hookonce/sources'

// `next dev` evaluates modules again after a change, and once per router.
globalThis.hooks ??= makeHooks()
export const hooks = globalThis.hooks

function makeHooks() {
  const made = hookonce({
    database: process.env.DATABASE_URL,
    sources: { test: custom(JSON.parse(process.env.SENDER)) },
  })
  return made.on('test', '*', () => undefined)
}
