import * as crypto from 'node:crypto'

/**
 * `hash` of node:crypto. With a named import, an old Node.js would refuse the whole package with a
 * SyntaxError before supported-node.ts could report the required version.
 */
export const hash: typeof crypto.hash = crypto.hash
