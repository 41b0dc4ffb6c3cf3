import { defineConfig } from 'vitest/config'

/**
 * Of HTTP, the command line, other people's libraries and processes that are killed: whatever
 * PostgreSQL is beneath, they would say the same. Their statements are run on both by others.
 */
const OF_ANY_SERVER = [
  'cli-admin',
  'cli-commands',
  'cli-dev',
  'cli-pause',
  'cli-replay',
  'cli-serve',
  'cli-subscribers',
  'cli-trigger',
  'cli-verify',
  'effects-adapters',
  'effects-await',
  'effects-crash',
  'effects-liveness',
  'effects-results',
  'forward',
  'inline',
  'keys-processes',
  'process-crash',
  'process-slots',
  'process-stop',
  'process-suspects',
  'process-trouble',
  'publish-crash',
  'receive-adapters',
  'receive-answers',
  'receive-bad-input',
  'receive-config',
  'receive-diagnosis',
  'receive-fetched-keys',
  'receive-frameworks',
  'receive-handshakes',
  'receive-secret-headers',
  'start-failures',
].map((name) => `test/scenarios/${name}.test.ts`)

/** Scenarios run twice: on the embedded server and on an installed PostgreSQL. */
function scenarios(server: 'embedded' | 'installed', more: string[] = []) {
  return {
    test: {
      name: server,
      include: ['test/scenarios/**/*.test.ts', ...more],
      exclude: server === 'installed' ? OF_ANY_SERVER : [],
      globalSetup: ['test/support/servers.ts'],
      // They run with fsync off: see spareTheDisk.
      env: { HOOKONCE_DURABILITY: 'unsafe' },
      provide: { server },
      testTimeout: 60_000,
      hookTimeout: 60_000,
    },
  }
}

export default defineConfig({
  test: {
    // One more than the cores of a small machine: crash tests and servers that start wait more than
    // they compute.
    maxWorkers: 3,
    reporters: ['default', './test/support/no-skips.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/docs/**/*.test.ts'],
          testTimeout: 30_000,
          // They change nothing that is not their own, and importing the code anew for each file
          // takes longer than most of them.
          isolate: false,
        },
      },
      {
        test: {
          name: 'official',
          include: ['test/official/*.test.ts'],
          globalSetup: ['test/official/install.ts'],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'server',
          include: ['test/embedded/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'keys',
          include: ['test/keys/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      scenarios('embedded'),
      // What stops and starts its server needs one of its own, which only an installed PostgreSQL
      // can give.
      scenarios('installed', ['test/installed/**/*.test.ts']),
    ],
  },
})
