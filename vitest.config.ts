import { defineConfig } from 'vitest/config'

/** Scenarios run twice: on the embedded server and on an installed PostgreSQL. */
function scenarios(server: 'embedded' | 'installed') {
  return {
    test: {
      name: server,
      include: ['test/scenarios/**/*.test.ts'],
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
    projects: [
      {
        test: { name: 'unit', include: ['src/**/*.test.ts', 'test/docs/**/*.test.ts'], testTimeout: 30_000 },
      },
      {
        test: {
          name: 'server',
          include: ['test/embedded/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      scenarios('embedded'),
      scenarios('installed'),
    ],
  },
})
