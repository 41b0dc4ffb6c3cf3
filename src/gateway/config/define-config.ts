import type { ConfigInput } from './schema.ts'

/**
 * Gives a configuration in TypeScript or JavaScript its type. It is checked when it is loaded.
 *
 * ```ts
 * export default defineConfig({
 *   sources: { stripe: { provider: 'stripe', secret: 'env:STRIPE_WEBHOOK_SECRET' } },
 *   destinations: { app: { url: 'http://127.0.0.1:3000/hooks', secret: 'env:FORWARD_SECRET' } },
 * })
 * ```
 */
export function defineConfig(config: ConfigInput): ConfigInput {
  return config
}
