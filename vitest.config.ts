import { defineConfig } from 'vitest/config'

/** Scenarios run twice: on the embedded server and on an installed PostgreSQL. */
function scenarios(server: 'embedded' | 'installed', more: string[] = []) {
  return {
    test: {
      name: server,
      include: ['test/scenarios/**/*.test.ts', ...more],
      globalSetup: ['test/support/servers.ts'],
      provide: { server },
      testTimeout: 60_000,
      hookTimeout: 60_000,
    },
  }
}

export default defineConfig({
  test: {
    maxWorkers: 2,
    reporters: ['default', './test/support/no-skips.ts'],
    projects: [
      {
        test: { name: 'unit', include: ['src/**/*.test.ts', 'test/docs/**/*.test.ts'], testTimeout: 30_000 },
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
      // What stops and starts its server needs one of its own, which only an installed PostgreSQL can give.
      scenarios('installed', ['test/installed/**/*.test.ts']),
    ],
  },
})
