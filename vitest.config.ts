import { defineConfig } from 'vitest/config'
import LongestFirst from './test/support/longest-first.ts'
import { SECOND_TRY } from './test/support/second-tries.ts'

/**
 * Scenarios lie in folders named for the servers they run on. `each-server` runs on the embedded
 * and on an installed PostgreSQL, which are of different versions: together these files send every
 * statement of the ledger. `any-server` runs once, on the embedded one. `own-server` stops and
 * starts a server, so it starts an installed one of its own. The short part of fuzzing runs beside
 * `any-server`.
 */
export function scenarios(server: 'embedded' | 'installed') {
  const only = server === 'embedded' ? 'any-server' : 'own-server'
  return {
    test: {
      name: server,
      include: [
        `test/{scenarios,keys}/{each-server,${only}}/*.test.ts`,
        ...(server === 'embedded' ? ['test/fuzz/*.test.ts'] : []),
      ],
      globalSetup: ['test/support/servers.ts'],
      setupFiles: ['test/support/shapes.ts'],
      // They run with fsync off: see spareTheDisk.
      env: { HOOKONCE_DURABILITY: 'unsafe' },
      provide: { server },
      // Some tests run a command thirty times, which takes a minute on a busy machine.
      testTimeout: 120_000,
      hookTimeout: 60_000,
      retry: SECOND_TRY,
      // Each test has a database of its own, and importing the code anew for each file takes long.
      isolate: false,
    },
  }
}

/**
 * The statements that a ledger on Citus sends (src/ledger/driver/shapes.ts), on a server without
 * Citus. With them, the tests must find the same rows.
 */
const distributed = {
  test: {
    ...scenarios('embedded').test,
    name: 'distributed',
    include: [
      'test/scenarios/each-server/guards-*.test.ts',
      'test/scenarios/each-server/{billing-app,failure-counts,ledger-durable,once,privacy-encryption}.test.ts',
      'test/scenarios/each-server/{process-order,publish-commit,publish-lanes}.test.ts',
    ],
    env: { HOOKONCE_DURABILITY: 'unsafe', HOOKONCE_TEST_SHAPES: 'distributed' },
  },
}

export const unit = {
  test: {
    name: 'unit',
    include: ['src/**/*.test.ts', 'dashboard/src/**/*.test.ts', 'test/docs/**/*.test.ts'],
    testTimeout: 30_000,
    retry: SECOND_TRY,
    // They change nothing that is not their own, and importing the code anew for each file takes
    // longer than most of them.
    isolate: false,
  },
}

export const workers = {
  // Two more than the cores of a small machine: crash tests and servers that start wait more than
  // they compute.
  maxWorkers: 4,
  reporters: ['default', './test/support/no-skips.ts', './test/support/second-tries.ts'],
  sequence: { sequencer: LongestFirst },
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
          retry: SECOND_TRY,
        },
      },
      {
        test: {
          name: 'frameworks',
          include: ['test/frameworks/*.test.ts'],
          globalSetup: ['test/support/servers.ts', 'test/frameworks/install.ts'],
          env: { HOOKONCE_DURABILITY: 'unsafe' },
          provide: { server: 'embedded' },
          testTimeout: 60_000,
          hookTimeout: 60_000,
          retry: SECOND_TRY,
        },
      },
      {
        test: {
          name: 'packaging',
          include: ['test/packaging/*.test.ts'],
          globalSetup: ['test/support/servers.ts', 'test/packaging/install.ts'],
          env: { HOOKONCE_DURABILITY: 'unsafe' },
          provide: { server: 'embedded' },
          testTimeout: 180_000,
          hookTimeout: 60_000,
          retry: SECOND_TRY,
        },
      },
      {
        test: {
          name: 'examples',
          include: ['test/examples/*.test.ts'],
          globalSetup: ['test/support/servers.ts', 'test/examples/install.ts'],
          provide: { server: 'embedded' },
          retry: SECOND_TRY,
        },
      },
      {
        test: {
          name: 'site',
          include: ['test/site/*.test.ts'],
          globalSetup: ['test/site/install.ts'],
          testTimeout: 60_000,
          retry: SECOND_TRY,
        },
      },
      {
        test: {
          name: 'server',
          include: ['test/embedded/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          retry: SECOND_TRY,
        },
      },
      {
        test: {
          name: 'keys',
          include: ['test/keys/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          retry: SECOND_TRY,
        },
      },
      {
        test: {
          name: 'browser',
          include: ['test/browser/*.test.ts'],
          // As long as a locator waits: a busy machine is slow to show a page.
          expect: { poll: { timeout: 20_000 } },
          globalSetup: ['test/support/servers.ts', 'test/browser/setup.ts'],
          env: { HOOKONCE_DURABILITY: 'unsafe' },
          provide: { server: 'embedded' },
          testTimeout: 60_000,
          hookTimeout: 60_000,
          retry: SECOND_TRY,
        },
      },
      {
        test: {
          name: 'chaos',
          include: ['test/{chaos,load}/*.test.ts'],
          // A long run takes hours.
          testTimeout: 24 * 60 * 60_000,
          hookTimeout: 60_000,
        },
      },
      scenarios('embedded'),
      scenarios('installed'),
      distributed,
    ],
  },
})
