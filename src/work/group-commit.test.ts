import { expect, test } from 'vitest'
import { type GroupCommitOptions, groupCommit } from './group-commit.ts'

/** A commit that ends when the test ends it. */
interface Commit {
  readonly batch: readonly string[]
  succeed(): void
  fail(error: Error): void
}

function commits(options: Partial<GroupCommitOptions<string>> = {}) {
  const begun: Commit[] = []
  const group = groupCommit<string, string>(
    (batch) =>
      new Promise((resolve, reject) => {
        begun.push({
          batch,
          succeed: () => resolve(batch.map((item) => `${item} done`)),
          fail: reject,
        })
      }),
    { maxItems: 100, ...options },
  )
  return { begun, group, batches: () => begun.map((commit) => commit.batch) }
}

/** Resolves when all pending callbacks have run. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(() => resolve())))

test('an idle group commits a lone item at once', async () => {
  const { begun, group } = commits()
  const added = group.add('a')
  await turn()
  expect(begun.map((commit) => commit.batch)).toEqual([['a']])
  begun[0]?.succeed()
  expect(await added).toBe('a done')
})

test('items of one turn of the event loop share a commit', async () => {
  const { begun, group, batches } = commits()
  const added = [group.add('a'), group.add('b'), group.add('c')]
  await turn()
  expect(batches()).toEqual([['a', 'b', 'c']])
  begun[0]?.succeed()
  expect(await Promise.all(added)).toEqual(['a done', 'b done', 'c done'])
})

test('items that arrive while a commit is in flight share the next commit', async () => {
  const { begun, group, batches } = commits()
  void group.add('a')
  await turn()
  void group.add('b')
  await turn()
  void group.add('c')
  await turn()
  expect(batches()).toEqual([['a']])
  expect(group.waiting).toBe(2)
  begun[0]?.succeed()
  await turn()
  expect(batches()).toEqual([['a'], ['b', 'c']])
  expect(group.waiting).toBe(0)
})

test('waiting items are committed before the last commit is answered', async () => {
  const { begun, group, batches } = commits()
  const seen = group.add('a').then(batches)
  await turn()
  void group.add('b')
  begun[0]?.succeed()
  expect(await seen).toEqual([['a'], ['b']])
})

test('a batch holds no more items than allowed, in the order of arrival', async () => {
  const { begun, group, batches } = commits({ maxItems: 2 })
  for (const item of ['a', 'b', 'c', 'd', 'e']) void group.add(item)
  for (const size of [2, 2, 1]) {
    await turn()
    expect(begun.at(-1)?.batch).toHaveLength(size)
    begun.at(-1)?.succeed()
  }
  expect(batches()).toEqual([['a', 'b'], ['c', 'd'], ['e']])
})

test('a batch stops growing at its limit of bytes, and a larger item is committed alone', async () => {
  const { begun, group, batches } = commits({ maxBytes: 5, bytesOf: (item) => item.length })
  for (const item of ['aa', 'bbb', 'c', 'dddddddd', 'e']) void group.add(item)
  for (let n = 0; n < 4; n += 1) {
    await turn()
    begun.at(-1)?.succeed()
  }
  expect(batches()).toEqual([['aa', 'bbb'], ['c'], ['dddddddd'], ['e']])
})

test('a failed commit rejects only its own items', async () => {
  const { begun, group } = commits()
  const first = [group.add('a'), group.add('b')]
  await turn()
  const second = group.add('c')
  begun[0]?.fail(new Error('down'))
  expect((await Promise.allSettled(first)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await turn()
  begun[1]?.succeed()
  expect(await second).toBe('c done')
})

test('a commit that throws synchronously rejects its items as well', async () => {
  const group = groupCommit<string, string>(
    () => {
      throw new Error('at once')
    },
    { maxItems: 10 },
  )
  await expect(group.add('a')).rejects.toThrow('at once')
  await group.idle()
})

test('idle() resolves at once if nothing is in flight, and otherwise after the last commit', async () => {
  const { begun, group } = commits({ maxItems: 1 })
  await group.idle()
  const settled: string[] = []
  void group.add('a').then(() => settled.push('a'))
  void group.add('b').then(() => settled.push('b'))
  let idle = false
  const waiting = group.idle().then(() => {
    idle = true
  })
  await turn()
  begun[0]?.succeed()
  await turn()
  expect({ settled, idle }).toEqual({ settled: ['a'], idle: false })
  begun[1]?.succeed()
  await waiting
  expect(settled).toEqual(['a', 'b'])
})

test('idle() also resolves after a failed commit', async () => {
  const { begun, group } = commits()
  const added = group.add('a')
  const waiting = group.idle()
  await turn()
  begun[0]?.fail(new Error('down'))
  await expect(added).rejects.toThrow('down')
  await waiting
})

test('if commits may overlap, the next starts when it carries as many items as the last', async () => {
  const { begun, group, batches } = commits({ maxInFlight: 2 })
  const added = [group.add('a'), group.add('b')]
  await turn()
  added.push(group.add('c'))
  await turn()
  expect(batches()).toEqual([['a', 'b']])
  added.push(group.add('d'))
  await turn()
  expect(batches()).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ])
  added.push(group.add('e'), group.add('f'), group.add('g'))
  await turn()
  expect(group.waiting).toBe(3)
  // The commits end in the other order: each item waits for its own commit only.
  begun[1]?.succeed()
  expect(await Promise.all(added.slice(2, 4))).toEqual(['c done', 'd done'])
  await turn()
  expect(batches()[2]).toEqual(['e', 'f', 'g'])
  let isIdle = false
  void group.idle().then(() => {
    isIdle = true
  })
  begun[2]?.succeed()
  await turn()
  expect(isIdle).toBe(false)
  begun[0]?.succeed()
  await turn()
  expect(isIdle).toBe(true)
})
