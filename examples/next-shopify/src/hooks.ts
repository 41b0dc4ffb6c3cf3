import { createHooks } from './create-hooks.ts'

declare global {
  var shopHooks: ReturnType<typeof createHooks> | undefined
}

/** One instance per process: `next dev` evaluates modules again after each change. */
export function hooks(): ReturnType<typeof createHooks> {
  globalThis.shopHooks ??= createHooks({
    database: process.env.DATABASE_URL,
    shopifySecret: required('SHOPIFY_WEBHOOK_SECRET'),
  })
  return globalThis.shopHooks
}

function required(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`set ${name}; for a try, any text will do`)
  return value
}
