#!/usr/bin/env node
import { refuseOldNode } from '../node-version.ts'

/* Loads the command line only where Node.js can read it. Nothing else may be imported above. */
const refused = refuseOldNode(process.versions.node)
if (refused === undefined) void import('./main.ts')
else {
  process.stderr.write(`${refused}\n`)
  process.exitCode = 1
}
