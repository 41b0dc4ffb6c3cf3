import * as crypto from 'node:crypto'

/**
 * `hash` of node:crypto. It is not a named import: an old Node.js would fail with a SyntaxError
 * before supported-node.ts could report the required version.
 */
export const hash: typeof crypto.hash = crypto.hash
