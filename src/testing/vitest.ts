import { expect } from 'vitest'
import { matchers, type TestMatchers } from './matchers.ts'

/* Adds the matchers to vitest: `import 'hookonce/testing/vitest'` in a test or a set-up file. */

expect.extend(matchers)

declare module 'vitest' {
  // biome-ignore lint/suspicious/noExplicitAny: vitest declares this type parameter with this default.
  interface Matchers<T = any> extends TestMatchers<T> {}
}
