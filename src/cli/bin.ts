#!/usr/bin/env node
import { refuseOldNode } from '../node-version.ts'

/*
 * Loads the command line only if this version of Node.js can parse it, so this file imports nothing
 * else.
 */
const refused = refuseOldNode(process.versions.node)
if (refused === undefined) void import('./main.ts')
else {
  process.stderr.write(`${refused}\n`)
  process.exitCode = 1
}
