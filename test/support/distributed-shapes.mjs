// Loaded before the program of every process that a test starts: see shapes.ts.
import { setDefaultShape } from '../../dist/ledger/driver/schema.js'

setDefaultShape('distributed')
