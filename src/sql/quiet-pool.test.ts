import pg from 'pg'
import { expect, test } from 'vitest'
import { endingServer } from '../../test/support/ending-server.ts'
import { quietPool } from './quiet-pool.ts'

test('a server that ends a connection during its login does not end the process', async () => {
  const port = await endingServer()
  const pool = quietPool(new pg.Pool({ host: '127.0.0.1', port, user: 'a', database: 'a', max: 1 }))
  // Vitest reports an uncaught exception as an error of the run.
  const client = await pool.connect()
  await expect(client.query('select 1')).rejects.toThrow(/not queryable|terminat/)
  client.release()
  await pool.end()
})
