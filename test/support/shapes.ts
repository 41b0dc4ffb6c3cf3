import { setDefaultShape } from '../../src/ledger/driver/schema.ts'

/*
 * HOOKONCE_TEST_SHAPES=distributed: this process, and the processes that tests start from dist/,
 * send the statements of a ledger on Citus.
 */
if (process.env.HOOKONCE_TEST_SHAPES === 'distributed') {
  setDefaultShape('distributed')
  const option = `--import=${new URL('./distributed-shapes.mjs', import.meta.url)}`
  const options = process.env.NODE_OPTIONS ?? ''
  // Test files of one process share its environment.
  if (!options.includes(option)) process.env.NODE_OPTIONS = `${options} ${option}`.trim()
}
