import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import pg from 'pg'
import type { KeyStore } from '../keys/store.ts'
import { memoryKeys } from '../keys/stores/memory.ts'
import { HookonceError } from '../model/errors.ts'
import { DEFAULT_SCHEMA } from '../model/schema-name.ts'
import { openClock, type TestClock } from './clock.ts'
import type { Frozen } from './contract.ts'
import { BROKEN, type Door, openDoor, type Reply } from './door.ts'
import { type Downstream, startDownstream } from './downstream.ts'
import { durationMs } from './duration.ts'
import { type ArmedFault, faults } from './faults.ts'
import { hostedStore } from './keyed-store.ts'
import { type SimulatedProcess, simulatedProcess } from './process.ts'
import { startProxy } from './proxy.ts'
import { type Row, tableRows } from './rows.ts'
import { testDatabases } from './server.ts'

/** Creates the app with its key store. Called again for each simulated process. */
export type KeyedApp = (
  store: KeyStore,
  database: string,
  kit: { readonly downstream: Downstream },
) => RequestListener | Promise<RequestListener>

/**
 * `handler`: the handler has run and nothing is stored. `reply`: the reply is stored and not sent.
 */
export type KeyedPoint = 'handler' | 'reply'

export interface TestKeysOptions {
  /**
   * A function creates the store on a fresh PostgreSQL. A store of your own, such as a store on
   * Redis, is shared by all processes of the test, and you close it. Default: a store in memory.
   */
  readonly store?: ((database: string) => KeyStore) | KeyStore | undefined
  readonly server?: string | undefined
  /** Creates your tables. Runs once per server. */
  readonly setup?: ((database: string) => unknown) | undefined
  readonly setupVersion?: string | undefined
}

export interface KeyedRequest {
  readonly method?: string
  readonly path?: string
  /** The Idempotency-Key. Default: a new key. */
  readonly key?: string
  /** An object is sent as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** How often the request is sent with the same key. */
  readonly times?: number
  readonly concurrently?: boolean
  /** The first reply never arrives, so the client sends the request again. */
  readonly loseReply?: boolean
}

/** One reply. `status` is undefined if the connection broke. */
export interface KeyedReply {
  readonly status: number | undefined
  readonly body: string
  readonly headers: IncomingHttpHeaders
  /** Whether this is the stored reply to an earlier request. */
  readonly isReplayed: boolean
}

export interface KeyedExchange {
  readonly key: string
  readonly replies: readonly KeyedReply[]
  /** The last reply. */
  readonly reply: KeyedReply
}

/** An app with idempotency keys, and the faults of its clients and processes. */
export interface TestKeys {
  send(request?: KeyedRequest): Promise<KeyedExchange>
  /** The process dies when a request reaches this point. The next process starts at once. */
  crashAt(point: KeyedPoint): ArmedFault
  /**
   * The process stops when a request reaches this point, and the client gives up on its reply. The
   * next process starts at once. To let the lock of the request expire, move the clock.
   */
  freeze(options: { readonly at: KeyedPoint }): Frozen
  /** Records the calls of the app to other services. */
  readonly downstream: Downstream
  /**
   * Moves the time of the store, so that locks and keys expire. Only for the memory store and
   * PostgreSQL: a store of your own has its own clock.
   */
  readonly clock: TestClock
  /** All rows of a table. Only with a store on PostgreSQL. */
  rows<R = Row>(table: string): Promise<R[]>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Runs an app whose routes have idempotency keys.
 *
 * ```ts
 * await using k = await testKeys((store) => nodeKeys({ store, tenant: 'global' })(createOrder))
 * const order = { path: '/orders', body: { sku: 'a' } }
 * const { replies } = await k.send({ ...order, times: 3, concurrently: true })
 * ```
 */
export async function testKeys(app: KeyedApp, options: TestKeysOptions = {}): Promise<TestKeys> {
  const place = typeof options.store === 'function' ? await databaseOf(options, options.store) : undefined
  const { clock, makeStore } =
    place ?? (typeof options.store === 'object' ? givenStore(options.store) : movableMemory())
  const armed = faults()
  const all: SimulatedProcess[] = []
  const doors: Door[] = []
  const downstream = await startDownstream()
  let current: RunningApp | undefined
  let recovering: Promise<unknown> = Promise.resolve()
  let isClosed = false

  async function start(): Promise<void> {
    const target = place?.url ?? 'postgres://127.0.0.1:9/none'
    const [proxy, appProxy] = [await startProxy(target), await startProxy(target)]
    const silence = openSilence()
    const process = simulatedProcess({
      proxy,
      appProxy,
      faults: armed,
      async onFault({ kind }, faulty) {
        if (kind === 'freeze') faulty.freeze()
        else faulty.die()
        recovering = recovering.then(start)
        silence.begin()
      },
    })
    all.push(process)
    const store = makeStore(appProxy.url)
    const hosted = hostedStore(store, process)
    process.run(undefined, () => (place ? store.close() : undefined))
    const door = await openDoor(await app(hosted, appProxy.url, { downstream }), process)
    doors.push(door)
    current = { door, silent: silence.begun }
  }

  async function exchange(request: KeyedRequest, key: string, isFirst: boolean): Promise<KeyedReply[]> {
    const { method = 'POST', path = '/', body, headers = {}, loseReply = false } = request
    const replies: KeyedReply[] = []
    for (let tries = 0; tries < MAX_RESENDS; tries += 1) {
      const { door, silent } = requireStarted(current)
      const sent = door.send(
        {
          method,
          url: path,
          headers: { 'idempotency-key': key, 'content-type': 'application/json', ...headers },
          body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body ?? {}),
        },
        isFirst && loseReply && tries === 0,
      )
      const { status, ...reply } = await Promise.race([sent, silent])
      replies.push({ ...reply, status, isReplayed: reply.headers['idempotent-replayed'] === 'true' })
      if (status !== undefined) break
      await recovering
    }
    return replies
  }

  await start()
  const self: TestKeys = {
    async send(request = {}) {
      const { times = 1, concurrently = false, key = randomUUID() } = request
      const copies = Array.from({ length: times }, (_, index) => () => exchange(request, key, index === 0))
      const replies = concurrently
        ? (await Promise.all(copies.map((send) => send()))).flat()
        : await inTurn(copies)
      const reply = replies.at(-1)
      if (!reply)
        throw new HookonceError(
          'CONFIG_INVALID',
          `send(): times must be a whole number from 1; it is ${times}`,
        )
      return { key, replies, reply }
    },
    crashAt: (point) => armed.arm('crash', pointOf(point), 1),
    freeze({ at }) {
      armed.arm('freeze', pointOf(at), 1)
      return {
        thaw() {
          const frozen = all.find(({ state }) => state === 'frozen')
          if (!frozen)
            throw new HookonceError(
              'TEST_POINT_UNREACHED',
              `thaw(): freeze({ at: '${at}' }) was not reached yet`,
            )
          frozen.thaw()
        },
      }
    },
    clock,
    downstream,
    rows(table) {
      if (!place)
        throw new HookonceError(
          'CONFIG_INVALID',
          'rows(): there is no database; pass a function as `store`, and `setup`, to testKeys()',
        )
      return tableRows(place.pool, table)
    },
    async close() {
      if (isClosed) return
      isClosed = true
      await recovering
      await Promise.all(doors.map((door) => door.close()))
      await Promise.all(all.map((process) => process.close()))
      await downstream.close()
      await place?.close()
      const [missed] = armed.unreached
      if (missed) throw new HookonceError('TEST_POINT_UNREACHED', `${callOf(missed)} was never reached`)
    },
    [Symbol.asyncDispose]: () => self.close(),
  }
  return self
}

/** A client gives up after this many requests without a reply. */
const MAX_RESENDS = 5

async function inTurn(copies: readonly (() => Promise<KeyedReply[]>)[]): Promise<KeyedReply[]> {
  const replies: KeyedReply[] = []
  for (const send of copies) replies.push(...(await send()))
  return replies
}

/** One process of the app. */
interface RunningApp {
  readonly door: Door
  /** Resolves when the process stops answering: its clients give up. */
  readonly silent: Promise<Reply>
}

function openSilence(): { readonly begun: Promise<Reply>; begin(): void } {
  let begin: () => void = () => undefined
  const begun = new Promise<Reply>((resolve) => {
    begin = () => resolve(BROKEN)
  })
  return { begun, begin: () => begin() }
}

function requireStarted(current: RunningApp | undefined): RunningApp {
  if (!current) throw new Error('the first process has not started')
  return current
}

function pointOf(point: KeyedPoint): 'write' | 'ack' {
  return point === 'handler' ? 'write' : 'ack'
}

function callOf({ kind, point }: ArmedFault): string {
  const at = point === 'write' ? 'handler' : 'reply'
  return kind === 'crash' ? `crashAt('${at}')` : `freeze({ at: '${at}' })`
}

/** The store of each process, and its clock. */
interface KeyPlace {
  readonly makeStore: (database: string) => KeyStore
  readonly clock: TestClock
}

interface KeyDatabase extends KeyPlace {
  readonly url: string
  readonly pool: pg.Pool
  close(): Promise<void>
}

async function databaseOf(
  { server, setup, setupVersion = '' }: TestKeysOptions,
  makeStore: KeyPlace['makeStore'],
): Promise<KeyDatabase> {
  const databases = await testDatabases(server)
  const version = `keys\0${String(setup ?? '')}\0${setupVersion}`
  const url = await databases.clone({ schema: DEFAULT_SCHEMA, setup, setupVersion: version })
  const pool = new pg.Pool({ connectionString: url, max: 2, allowExitOnIdle: true })
  pool.on('error', () => undefined)
  const clock = await openClock({ pool, onMoved: async () => undefined })
  return {
    url,
    pool,
    clock,
    makeStore,
    async close() {
      await pool.end()
      await databases.drop(url)
    },
  }
}

function givenStore(store: KeyStore): KeyPlace {
  return {
    makeStore: () => store,
    clock: {
      now: () => new Date(),
      async advance() {
        throw new HookonceError(
          'CONFIG_INVALID',
          'clock.advance(): the store that was passed to testKeys() has a clock of its own',
        )
      },
    },
  }
}

function movableMemory(): KeyPlace {
  let shiftMs = 0
  const now = (): number => Date.now() + shiftMs
  const store = memoryKeys({ now })
  return {
    makeStore: () => store,
    clock: {
      now: () => new Date(now()),
      async advance(by) {
        shiftMs += durationMs(by, 'clock.advance()')
      },
    },
  }
}
