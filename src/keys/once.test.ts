import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { keyId } from './identity.ts'
import { type OnceContext, once } from './once.ts'
import type { KeyStore } from './store.ts'
import { memoryKeys } from './stores/memory.ts'

const options = { tenant: 'global' } as const

/** Holds a key like a crashed process: the lock expires at once. */
async function crashed(store: KeyStore, key: string): Promise<void> {
  const gone: KeyStore = { ...store, extend: async () => true, settle: () => new Promise(() => undefined) }
  void once(gone, key, () => 'lost', { ...options, lockMs: 100 })
  await Promise.resolve()
}

describe('once()', () => {
  test('runs once, and returns the first result to every caller', async () => {
    const store = memoryKeys()
    let runs = 0
    const work = () => ({ order: ++runs })
    expect(await once(store, 'k', work, options)).toEqual({ order: 1 })
    expect(await once(store, 'k', work, options)).toEqual({ order: 1 })
    expect(runs).toBe(1)
  })

  test('a first run calls the store twice, a replay once', async () => {
    const store = memoryKeys()
    const asked: string[] = []
    const counting = new Proxy(store, {
      get(target, verb, receiver) {
        if (typeof Reflect.get(target, verb) === 'function') asked.push(String(verb))
        return Reflect.get(target, verb, receiver)
      },
    })
    await once(counting, 'k', () => 1, options)
    expect(asked.splice(0)).toEqual(['acquire', 'settle'])
    await once(counting, 'k', () => 1, options)
    expect(asked).toEqual(['acquire'])
  })

  test.each([undefined, null, 0, '', [], 'text'])('%j is returned unchanged', async (value) => {
    const store = memoryKeys()
    await once(store, 'k', () => value, options)
    expect(await once(store, 'k', () => 'another', options)).toEqual(value)
  })

  test('keys of different tenants do not collide, and a tenant is required', async () => {
    const store = memoryKeys()
    expect(await once(store, 'k', () => 1, { tenant: 'a' })).toBe(1)
    expect(await once(store, 'k', () => 2, { tenant: 'b' })).toBe(2)
    // @ts-expect-error: the tenant is missing on purpose
    await expect(once(store, 'k', () => 3, {})).rejects.toThrow(/CONFIG_INVALID.*tenant/)
  })

  test('a different input with the same key is rejected', async () => {
    const store = memoryKeys()
    await once(store, 'k', () => 1, { ...options, input: { amount: 1 } })
    await expect(once(store, 'k', () => 1, { ...options, input: { amount: 2 } })).rejects.toMatchObject({
      code: 'KEY_REUSED',
    })
  })

  test('while one run holds the key, other calls are rejected or wait', async () => {
    const store = memoryKeys()
    let finish: (value: string) => void = () => undefined
    const first = once(
      store,
      'k',
      () =>
        new Promise<string>((resolve) => {
          finish = resolve
        }),
      options,
    )
    await expect(once(store, 'k', () => 'second', options)).rejects.toMatchObject({ code: 'KEY_IN_PROGRESS' })
    const waiting = once(store, 'k', () => 'second', { ...options, waitMs: 10_000 })
    finish('first')
    expect(await Promise.all([first, waiting])).toEqual(['first', 'first'])
  })

  test('an error leaves the key unknown, unless the handler is known to have had no effect', async () => {
    const store = memoryKeys()
    const fail = () => Promise.reject(new Error('no'))
    await expect(once(store, 'opaque', fail, options)).rejects.toThrow('no')
    await expect(once(store, 'opaque', () => 1, options)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await expect(once(store, 'declared', fail, { ...options, handler: 'declared' })).rejects.toThrow('no')
    expect(await once(store, 'declared', () => 1, { ...options, handler: 'declared' })).toBe(1)
  })

  test('a result that cannot be stored reaches the first caller; later callers get an error', async () => {
    const store = memoryKeys()
    const large = 'x'.repeat(1_000)
    expect(await once(store, 'k', () => large, { ...options, maxResultBytes: 100 })).toBe(large)
    await expect(once(store, 'k', () => large, options)).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' })
  })

  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic
  test('the first caller gets the same JSON value as the others', async () => {
    const store = memoryKeys()
    const work = () => ({ at: new Date(0), ids: new Set([1]), absent: undefined, rows: [{ n: 1 }] })
    const expected = { at: '1970-01-01T00:00:00.000Z', ids: {}, rows: [{ n: 1 }] }
    expect(await once(store, 'k', work, options)).toEqual(expected)
    expect(await once(store, 'k', work, options)).toEqual(expected)
  })

  test.each([10n, cyclic])(
    'a result without a JSON form reaches the first caller, and the key is completed: case %#',
    async (value) => {
      const store = memoryKeys()
      let runs = 0
      const work = () => {
        runs++
        return value
      }
      expect(await once(store, 'k', work, options)).toBe(value)
      await expect(once(store, 'k', work, options)).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' })
      expect(runs).toBe(1)
    },
  )

  test.each([undefined, null, 5, ''])(
    'the key %j is rejected with a clear error, and nothing runs',
    async (key) => {
      const run = () => {
        throw new Error('it ran')
      }
      await expect(once(memoryKeys(), key as never, run, options)).rejects.toThrow(
        /CONFIG_INVALID: once\(\): the key/,
      )
    },
  )

  test.each(['with a \0', 'half \ud83d', ''])(
    'a step whose name cannot be kept does not run: %j',
    async (name) => {
      let runs = 0
      const work = ({ step }: OnceContext) => step(name, () => ++runs)
      await expect(once(memoryKeys(), 'k', work, { ...options, handler: 'resumable' })).rejects.toMatchObject(
        {
          code: 'CONFIG_INVALID',
        },
      )
      expect(runs).toBe(0)
    },
  )

  test('an input without a JSON form is rejected with a clear error, and so is a non-function', async () => {
    const store = memoryKeys()
    await expect(once(store, 'k', () => 1, { ...options, input: 1n })).rejects.toThrow(
      /CONFIG_INVALID.*input/,
    )
    await expect(once(store, 'k', 5 as never, options)).rejects.toThrow(/CONFIG_INVALID.*function/)
  })

  describe('the result of a step in a resumable handler', () => {
    /** Runs the handler twice, because something fails after the step. */
    async function twice(result: unknown) {
      const store = memoryKeys()
      const observed: string[] = []
      const got: unknown[] = []
      let charged = 0
      const run = () =>
        once(
          store,
          'k',
          async ({ step }) => {
            got.push(
              await step('charge', () => {
                charged++
                return result
              }),
            )
            throw new Error('the network is down')
          },
          {
            ...options,
            handler: 'resumable',
            maxResultBytes: 100,
            observe: ({ what }) => void observed.push(what),
          },
        )
      await expect(run()).rejects.toThrow('the network is down')
      const [second] = await Promise.allSettled([run()])
      return { got, charged, observed, second: String(second.status === 'rejected' && second.reason) }
    }

    test.each([
      ['too large', 'x'.repeat(1_000)],
      ['without JSON', 10n],
    ])('that is %s reaches the first run; the step is done, and the next one is told', async (_, result) => {
      const { got, charged, observed, second } = await twice(result)
      expect(got).toEqual([result])
      expect(second).toMatch('RESULT_NOT_STORED: step "charge" ran before')
      expect([charged, observed]).toEqual([1, ['not_persisted', 'failed', 'failed']])
    })

    test('is the same JSON value in the first run and in the next', async () => {
      const { got, charged } = await twice({ at: new Date(0) })
      expect(got).toEqual(Array(2).fill({ at: '1970-01-01T00:00:00.000Z' }))
      expect(charged).toBe(1)
    })
  })

  test.each([
    ['unknown', undefined],
    ['reexecute', 'again'],
  ] as const)('after a crash: %s', async (onCrash, expected) => {
    let now = 1_000
    const store = memoryKeys({ now: () => now })
    await crashed(store, 'k')
    now += 1_000
    const second = once(store, 'k', () => 'again', { ...options, onCrash })
    if (expected === undefined) await expect(second).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    else expect(await second).toBe(expected)
  })

  test.each([
    [{ complete: 'found' }, 'found'],
    ['release', 'again'],
  ] as const)('after a crash, when it is found out: %j', async (found, expected) => {
    let now = 1_000
    const store = memoryKeys({ now: () => now })
    await crashed(store, 'k')
    now += 1_000
    const reconcile = async () => found
    const second = once<string>(store, 'k', () => 'again', { ...options, onCrash: 'reconcile', reconcile })
    expect(await second).toBe(expected)
    expect(await once(store, 'k', () => 'never', options)).toBe(expected)
  })

  test('after a crash with an unknown outcome no call runs, and an operator may still settle it', async () => {
    let now = 1_000
    const store = memoryKeys({ now: () => now })
    await crashed(store, 'k')
    now += 1_000
    const reconcile = async () => 'unknown' as const
    const second = once<string>(store, 'k', () => 'again', { ...options, onCrash: 'reconcile', reconcile })
    await expect(second).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await expect(once(store, 'k', () => 'again', { ...options, onCrash: 'reexecute' })).rejects.toMatchObject(
      {
        code: 'OUTCOME_UNKNOWN',
      },
    )
    const id = keyId('global', 'k')
    const fence = (await store.read(id))?.fence ?? 0
    const settled = { to: 'completed', result: Buffer.from('"found"'), ttlMs: 60_000 } as const
    expect(await store.settle(id, fence, settled)).toBe(true)
    expect(await once(store, 'k', () => 'again', options)).toBe('found')
  })

  test('a reconcile that throws leaves the lock to expire, and the next call reconciles again', async () => {
    let now = 1_000
    const store = memoryKeys({ now: () => now })
    await crashed(store, 'k')
    now += 1_000
    let asked = 0
    const reconciling = {
      ...options,
      onCrash: 'reconcile',
      async reconcile() {
        if (++asked === 1) throw new Error('the bank does not answer')
        return { complete: 'found' }
      },
    } as const
    await expect(once<string>(store, 'k', () => 'again', reconciling)).rejects.toThrow(
      'the bank does not answer',
    )
    await expect(once<string>(store, 'k', () => 'again', reconciling)).rejects.toMatchObject({
      code: 'KEY_IN_PROGRESS',
    })
    now += 120_000
    expect(await once<string>(store, 'k', () => 'again', reconciling)).toBe('found')
    expect(asked).toBe(2)
  })

  test('a takeover aborts the signal, and the late result is not stored', async () => {
    let now = 1_000
    const store = memoryKeys({ now: () => now })
    let aborted: Promise<unknown> | undefined
    const first = once(
      store,
      'k',
      async ({ signal }) => {
        aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
        await aborted
        return 'late'
      },
      { ...options, lockMs: 300, onCrash: 'reexecute' },
    )
    now += 1_000
    expect(await once(store, 'k', () => 'successor', { ...options, onCrash: 'reexecute' })).toBe('successor')
    expect(await first).toBe('successor')
  })

  test('heartbeat responses may arrive out of order: a late one does not end the lock', async () => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    })
    onTestFinished(() => void vi.useRealTimers())
    const inner = memoryKeys()
    let asked = 0
    let hear: (held: boolean) => void = () => undefined
    const store: KeyStore = {
      ...inner,
      async extend(...question) {
        asked++
        const held = await inner.extend(...question)
        if (asked > 1) return held
        return new Promise((resolve) => {
          hear = resolve
        })
      },
    }
    let finish: () => void = () => undefined
    const running = once(
      store,
      'late',
      async ({ signal }) => {
        await new Promise<void>((resolve) => {
          finish = resolve
        })
        return signal.aborted
      },
      { tenant: 'global', lockMs: 300 },
    )
    // By now the first heartbeat is older than the lock.
    await vi.advanceTimersByTimeAsync(450)
    expect(asked).toBe(4)
    hear(true)
    await vi.advanceTimersByTimeAsync(250)
    expect(asked).toBe(7)
    finish()
    expect(await running).toBe(false)
  })

  test('an observer that throws changes nothing', async () => {
    const warned = new Promise((resolve) => process.once('warning', resolve))
    const observe = (): void => {
      throw new Error('the metrics are down')
    }
    expect(await once(memoryKeys(), 'k', () => 'done', { tenant: 'global', observe })).toBe('done')
    expect(String(await warned)).toContain('the metrics are down')
  })

  test('heartbeats extend the lock while the function runs', async () => {
    const store = memoryKeys()
    let extended: () => void = () => undefined
    const beats = new Promise<void>((resolve) => {
      extended = resolve
    })
    let count = 0
    const beating: KeyStore = {
      ...store,
      extend(...args) {
        if (++count === 6) extended()
        return store.extend(...args)
      },
    }
    let finish: (value: string) => void = () => undefined
    const work = () =>
      new Promise<string>((resolve) => {
        finish = resolve
      })
    // Six heartbeats last as long as two locks.
    const first = once(beating, 'k', work, { ...options, lockMs: 150 })
    await beats
    await expect(once(store, 'k', () => 'second', options)).rejects.toMatchObject({ code: 'KEY_IN_PROGRESS' })
    finish('first')
    expect(await first).toBe('first')
  })

  test('an acquire whose response was lost is retried, and the function runs once', async () => {
    const store = memoryKeys()
    let lost = 0
    const deaf: KeyStore = {
      ...store,
      async acquire(...args) {
        const answer = await store.acquire(...args)
        if (lost++ === 0) throw new Error('connection reset')
        return answer
      },
    }
    let runs = 0
    expect(await once(deaf, 'k', () => ++runs, options)).toBe(1)
  })

  test('an acquire that succeeds after its timeout is released', async () => {
    const store = memoryKeys()
    let answer: () => void = () => undefined
    const slow: KeyStore = {
      ...store,
      async acquire(...args) {
        await new Promise<void>((resolve) => {
          answer = resolve
        })
        return store.acquire(...args)
      },
    }
    await expect(once(slow, 'k', () => 1, { ...options, storeTimeoutMs: 50 })).rejects.toMatchObject({
      code: 'KEY_STORE_DOWN',
    })
    answer()
    expect(await once(store, 'k', () => 2, { ...options, waitMs: 5_000 })).toBe(2)
  })
})
