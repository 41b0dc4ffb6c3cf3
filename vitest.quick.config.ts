import { defineConfig } from 'vitest/config'
import { scenarios, unit, workers } from './vitest.config.ts'

/*
 * `npm run test:quick`, for the inner loop: units, and some scenarios on the embedded server.
 *
 * The first scenarios were chosen by the statements that they send (`npm run mutants` records which
 * test sends which): those with the most new statements per second, until the rest added one or two
 * each. Together they send most statements of the ledger. The last three are about the schema.
 */
const QUICK = [
  'billing-app',
  'once',
  'receive-shadow',
  'receive-expired',
  'process-ledger',
  'process-races',
  'process-order',
  'effects-fresh',
  'effects-late',
  'publish-lanes',
  'publish-relay',
  'operate-replay',
  'ledger-states',
  'ledger-migrate',
  'ledger-new-migrations',
]

/** These two feed hostile input to every provider and take as long as all other units together. */
const LONG = ['src/sources/diagnose/bounds.test.ts', 'src/sources/catalogue/strangers.test.ts']

const { test } = scenarios('embedded')

export default defineConfig({
  test: {
    ...workers,
    projects: [
      { test: { ...unit.test, exclude: LONG } },
      { test: { ...test, include: [`test/scenarios/*/{${QUICK.join(',')}}.test.ts`] } },
    ],
  },
})
