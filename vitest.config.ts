import { defineConfig } from 'vitest/config'

/**
 * Scenarios lie in folders named for the servers they run on. `each-server` runs on the embedded
 * and on an installed PostgreSQL. `any-server` does not depend on the server and runs once, on the
 * embedded one. `own-server` stops and starts a server, so it starts an installed one of its own.
 */
export function scenarios(server: 'embedded' | 'installed') {
  const only = server === 'embedded' ? 'any-server' : 'own-server'
  return {
    test: {
      name: server,
      include: [`test/{scenarios,keys}/{each-server,${only}}/*.test.ts`],
      globalSetup: ['test/support/servers.ts'],
      // They run with fsync off: see spareTheDisk.
      env: { HOOKONCE_DURABILITY: 'unsafe' },
      provide: { server },
      testTimeout: 60_000,
      hookTimeout: 60_000,
    },
  }
}

export const unit = {
  test: {
    name: 'unit',
    include: ['src/**/*.test.ts', 'test/docs/**/*.test.ts'],
    testTimeout: 30_000,
    // They change nothing that is not their own, and importing the code anew for each file takes
    // longer than most of them.
    isolate: false,
  },
}

export const workers = {
  // One more than the cores of a small machine: crash tests and servers that start wait more than
  // they compute.
  maxWorkers: 3,
  reporters: ['default', './test/support/no-skips.ts'],
}

export default defineConfig({
  test: {
    ...workers,
    projects: [
      unit,
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
          include: ['test/keys/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      scenarios('embedded'),
      scenarios('installed'),
    ],
  },
})
