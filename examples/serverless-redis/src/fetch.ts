import { createReceiver } from './receiver.ts'
import { settings } from './settings.ts'

/**
 * Hosts that call a function with the fetch signature: Vercel, Bun, Deno, Cloudflare with
 * nodejs_compat.
 */
export default { fetch: createReceiver(settings()).fetch }
