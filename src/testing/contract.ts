import type { RequestListener } from 'node:http'
import type pg from 'pg'
import type { Hookonce } from '../hookonce.ts'
import type { JobView } from '../ledger/testing/progress.ts'
import type { Sources } from '../options.ts'
import type { TestClock } from './clock.ts'
import type { Deliver, Overrides } from './deliver.ts'
import type { Downstream } from './downstream.ts'
import type { EffectHistory } from './effects.ts'
import type { ArmedFault, CrashPoint } from './faults.ts'
import type { JobFilter, WaitOptions } from './journal.ts'
import type { Row } from './rows.ts'

/* The object that a test uses. */

/** A factory may return this instead of only the hooks. */
export interface TestApp<S extends Sources> {
  readonly hooks: Hookonce<S>
  /** Deliveries are sent to this app instead of the hooks: an Express app, or any listener. */
  readonly app?: RequestListener | undefined
  /** Closes the resources of the factory. */
  readonly close?: (() => unknown) | undefined
}

/**
 * Creates the hooks on a database. Called again for each simulated process, like a restart of the
 * app.
 */
export type HooksFactory<S extends Sources> = (
  database: string,
  kit: { readonly downstream: Pick<Downstream, 'url'> },
) => Hookonce<S> | TestApp<S> | Promise<Hookonce<S> | TestApp<S>>

export interface TestHooksOptions {
  /** A PostgreSQL whose role may create databases. Default: an embedded one. */
  readonly server?: string | undefined
  /** Creates your tables. Runs once per server, not once per test. */
  readonly setup?: ((database: string) => unknown) | undefined
  /** Change this if `setup` reads files: otherwise only its source text identifies a version. */
  readonly setupVersion?: string | undefined
  /** The schema of the ledger, if a factory makes hooks that do not use the default. */
  readonly schema?: string | undefined
  /** Deliveries are sent to this app instead of the hooks. */
  readonly app?: RequestListener | undefined
  /** The path of deliveries to `app`. Default: `/webhooks/<source>`. */
  readonly path?: ((source: string) => string) | undefined
  /**
   * Makes each process of the test a real process, which is killed with SIGKILL and frozen with
   * SIGSTOP. It imports the factory from this module. The factory must be passed to testHooks()
   * too.
   */
  readonly process?: RealProcess | undefined
  /** `start: false`: events are recorded, but no worker runs. */
  readonly start?: boolean | undefined
}

export interface RealProcess {
  /** A module that Node.js can load, as a path or URL. */
  readonly module: string | URL
  /** The name of the factory. Default: `default`. */
  readonly export?: string | undefined
  /** Arguments of Node.js, such as `['--import', 'tsx']` for modules in TypeScript. */
  readonly execArgv?: readonly string[] | undefined
}

export interface FaultOptions {
  /** The occurrence of the point, from 1. Default: 1. */
  readonly time?: number
}

/** hookonce on the test's own database, with a clock and with faults. */
export interface TestHooks<S extends Sources> {
  /** The hooks under test. After a crash, the hooks of the next process. */
  readonly hooks: Hookonce<S>
  /** The URL of the database. It is not affected by crashes. */
  readonly database: string
  readonly pool: pg.Pool
  readonly clock: TestClock
  readonly downstream: Downstream
  readonly deliver: Deliver<S>
  /**
   * Waits until every delivered event is at rest: processed, failed, or waiting for a person. Moves
   * the clock to scheduled retries.
   */
  settled(options?: WaitOptions): Promise<void>
  /** Waits for a job that is or was in a state. Does not move the clock. */
  waitFor(filter: JobFilter, options?: WaitOptions): Promise<JobView>
  /** All jobs, in order of arrival. */
  jobs(): Promise<JobView[]>
  /** The records of an effect. */
  effects(key: string): Promise<EffectHistory>
  /** All rows of a table, in a stable order. */
  rows<R = Row>(table: string): Promise<R[]>
  /** The process dies when a run reaches the point. The next process takes over. */
  crashAt(point: CrashPoint, options?: FaultOptions): ArmedFault
  /**
   * Stops the process for longer than its lease, now or at a point. Another process takes over.
   */
  freeze(options?: FaultOptions & { readonly at?: CrashPoint }): Promise<Frozen>
  /** The lease ends while the handlers continue, now or at a point. Another process takes over. */
  loseLease(options?: FaultOptions & { readonly at?: CrashPoint }): Promise<void>
  /** Every order and number of deliveries must lead to the same rows. */
  readonly permutations: Permutations<S>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export interface Frozen {
  /** The frozen process continues, unaware that time has passed. */
  thaw(): void
}

/** One event of a schedule. It has the same key in all schedules. */
export interface ScheduledEvent<S extends Sources = Sources> {
  readonly source: keyof S & string
  readonly type: string
  readonly overrides?: Overrides
  /** Default: one per event of the list. */
  readonly key?: string
  readonly objectId?: string
  /** Default: one second after the previous event. */
  readonly occurredAt?: Date
}

export interface PermutationOptions<S extends Sources> {
  /** Each event is delivered from once to this many times. Default: 2. */
  readonly maxTimes?: number
  /** If there are more schedules, a sample is tried. Default: 50. */
  readonly limit?: number
  /** Repeats the sample of an earlier run. Default: random, and part of the error. */
  readonly seed?: number
  /** The tables to compare. Default: all tables except the ledger's. */
  readonly tables?: readonly string[]
  /**
   * Columns that may differ. Columns with a default such as `now()` or a sequence may always
   * differ.
   */
  readonly ignore?: readonly string[]
  /** Further values that must be equal in all schedules. */
  readonly observe?: (t: TestHooks<S>) => unknown
}

export interface PermutationReport {
  /** The number of tried schedules. */
  readonly tried: number
  /** Whether these are all possible schedules. */
  readonly isExhaustive: boolean
  readonly seed: number
}

/**
 * Delivers the events in every order and number, each schedule on its own database. Compares the
 * rows with the rows after each event was delivered once, in the given order. Throws TEST_DIVERGED
 * with the shortest schedule that leads to other rows.
 */
export type Permutations<S extends Sources> = (
  events: readonly ScheduledEvent<S>[],
  options?: PermutationOptions<S>,
) => Promise<PermutationReport>
