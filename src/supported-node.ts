import { refuseOldNode } from './node-version.ts'

/*
 * The first import of every entry point. Reports the required version of Node.js, before another
 * import fails without an explanation.
 */
const refused = refuseOldNode(globalThis.process?.versions?.node ?? '')
if (refused !== undefined) throw new Error(refused)
