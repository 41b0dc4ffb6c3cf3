import { HookonceError } from '../model/errors.ts'
import { matchers, type TestMatchers } from './matchers.ts'

/* Adds the matchers to jest: `import 'hookonce/testing/jest'` in a test or a set-up file. */

const { expect } = globalThis as { expect?: { extend?: (added: typeof matchers) => void } }
if (!expect?.extend)
  throw new HookonceError(
    'CONFIG_INVALID',
    'hookonce/testing/jest: there is no global `expect`; import it in a test, or in `setupFilesAfterEnv` of jest',
  )
expect.extend(matchers)

declare global {
  namespace jest {
    interface Matchers<R> extends TestMatchers<R> {}
  }
}
