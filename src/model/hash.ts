import * as crypto from 'node:crypto'

/**
 * `hash` of node:crypto. Imported by its name, an old Node.js would refuse the whole package with a
 * SyntaxError before supported-node.ts could say which version is needed.
 */
export const hash: typeof crypto.hash = crypto.hash
