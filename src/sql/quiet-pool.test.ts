import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { quietPool } from './quiet-pool.ts'

/** A message of the server: its kind, its length, and what it holds. */
function message(kind: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(kind)
  head.writeInt32BE(content.length + 4, 1)
  return Buffer.concat([head, content])
}

const LOGGED_IN = message('R', Buffer.alloc(4))
const READY = message('Z', Buffer.from('I'))
const SHUTDOWN = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'))

test('a server that ends a connection in the moment of its login does not end the process', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(Buffer.concat([LOGGED_IN, READY, SHUTDOWN])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const pool = quietPool(new pg.Pool({ host: '127.0.0.1', port, user: 'a', database: 'a', max: 1 }))
  // Vitest reports an uncaught exception as an error of the run.
  const client = await pool.connect()
  await expect(client.query('select 1')).rejects.toThrow(/not queryable|terminat/)
  client.release()
  await pool.end()
})
