import { refuseOldNode } from './node-version.ts'

/*
 * The first import of every entry: says which Node.js is needed, where something else would fail
 * for want of it.
 */
const refused = refuseOldNode(globalThis.process?.versions?.node ?? '')
if (refused !== undefined) throw new Error(refused)
