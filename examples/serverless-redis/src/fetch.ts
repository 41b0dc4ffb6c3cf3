import { createReceiver } from './receiver.ts'
import { settings } from './settings.ts'

/**
 * Hosts that call a function with the fetch signature, such as Bun. Not for Cloudflare Workers:
 * the connection to Redis serves many requests, and a Worker must not share it between requests.
 */
export default { fetch: createReceiver(settings()).fetch }
