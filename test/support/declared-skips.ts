/**
 * The test server from npm does not isolate transactions. The reference repeats this reason, word
 * for word.
 */
export const NEEDS_FIRESTORE_EMULATOR =
  'needs FIRESTORE_EMULATOR_HOST to name a Firestore emulator whose transactions are isolated'

/** An exported or shallow copy of the repository has no older versions to build, and no subjects. */
export const NEEDS_GIT_HISTORY = 'needs a full git clone: the test reads its history'

/** The destination in another language uses only its standard library. */
export const NEEDS_PYTHON = 'needs python3'

/** npm has the Node.js releases and package managers only for this platform. */
export const NEEDS_LINUX_X64 = 'needs Linux on x64: npm has the programs for it'

/** Citus is no package of npm or Debian: its image runs it (deploy/citus/). */
export const NEEDS_CITUS = 'needs HOOKONCE_CITUS_URL to name a database of a Citus cluster'

/** Reasons for which a test may be skipped even in CI. */
export const DECLARED_SKIPS: ReadonlySet<string> = new Set([
  NEEDS_FIRESTORE_EMULATOR,
  NEEDS_GIT_HISTORY,
  NEEDS_PYTHON,
  NEEDS_LINUX_X64,
  NEEDS_CITUS,
])
