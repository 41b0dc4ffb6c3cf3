// @ts-check
import { existsSync } from 'node:fs'

/*
 * The hookonce under test is the last build in the parent folder. It is imported by path: with a
 * `file:..` dependency, `npm ci` in bench/ would rearrange the root's node_modules.
 */
if (!existsSync(new URL('../dist/index.js', import.meta.url))) {
  throw new Error(
    'hookonce is not built: run `npm ci` (or `npm run build`) in the root of the repository first',
  )
}

export const { hookonce } = await import('../dist/index.js')
export const { stripe } = await import('../dist/sources/index.js')
export const { claimJobs } = await import('../dist/ledger/jobs/claim.js')
export const binary = await import('../dist/ledger/driver/binary.js')
export const { startEmbedded } = await import('../dist/ledger/embedded/embedded.js')
export const { cachedKeys, nodeKeys, once, redisKeys } = await import('../dist/keys/index.js')
