import { expect, test } from 'vitest'
import { type Frame, frameReader } from './postgres-messages.ts'
import { followTransactions } from './transactions.ts'

function frame(type: string, ...texts: string[]): Frame {
  const payload = Buffer.from(texts.map((text) => `${text}\0`).join(''))
  const head = Buffer.alloc(5)
  head.write(type, 'latin1')
  head.writeUInt32BE(payload.length + 4, 1)
  return { type, payload, bytes: Buffer.concat([head, payload]) }
}

const query = (sql: string): Frame => frame('Q', sql)
const commitsOf = (...frames: Frame[]): (string | undefined)[] =>
  followTransactions()(frames).map(({ commit }) => commit)

test('a transaction commits at its end, and is named after its writes', () => {
  const commits = commitsOf(
    query('BEGIN'),
    query('insert into "seen" values (1) on conflict do update set a = 1'),
    query('update app.invoice set paid = true'),
    query('COMMIT'),
  )
  expect(commits).toEqual([undefined, undefined, undefined, 'commit of insert into seen, update app.invoice'])
})

test('a write outside a transaction commits, a read and a rollback do not', () => {
  expect(commitsOf(query('delete from job'))).toEqual(['commit of delete from job'])
  expect(commitsOf(query('select 1 for update'))).toEqual([undefined])
  expect(
    commitsOf(query('begin'), query('insert into a values (1)'), query('rollback'), query('commit')),
  ).toEqual([undefined, undefined, undefined, undefined])
})

test('the extended protocol is held back until Sync, also with named statements', () => {
  const follow = followTransactions()
  const held = follow([
    frame('P', 's1', 'insert into payment values ($1)'),
    frame('B', '', 's1'),
    frame('E', ''),
  ])
  expect(held).toEqual([])
  const [batch] = follow([frame('S')])
  expect(batch?.commit).toBe('commit of insert into payment')
  // The second time, the statement is only bound.
  expect(follow([frame('B', '', 's1'), frame('E', ''), frame('S')])[0]?.commit).toBe(
    'commit of insert into payment',
  )
})

test('frames are found in a stream that arrives in any pieces', () => {
  const bytes = Buffer.concat([query('select 1').bytes, query('select 2').bytes])
  const read = frameReader(false)
  const found = [...bytes].flatMap((byte) => read(Buffer.from([byte])))
  expect(found.map(({ type, payload }) => type + payload.toString())).toEqual(['Qselect 1\0', 'Qselect 2\0'])
})
