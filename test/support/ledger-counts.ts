/* How many ledgers and servers the scenarios run with: many-ledgers.ts explains it. */

/** The ledgers beside that of the tests. */
export const MORE_LEDGERS = Number(process.env.HOOKONCE_TEST_LEDGERS ?? 0)

/** The servers beside the server of the test's database. */
export const MORE_SERVERS = MORE_LEDGERS > 0 && process.env.HOOKONCE_TEST_LEDGER_SERVERS === '3' ? 2 : 0

/** The schemas of the ledgers beside that of the tests. */
export const MORE_SCHEMAS = Array.from({ length: MORE_LEDGERS }, (_, number) => `hookonce_${number}`)
