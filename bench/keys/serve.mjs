// @ts-check
import { createServer } from 'node:http'
import { ran } from './work.mjs'

/*
 * The server of one contender: `node serve.mjs <file> <port of Redis>`. Prints its port. GET /runs
 * returns how often the handler ran.
 */
const [file, redisPort] = process.argv.slice(2)
const { listener } = await import(`./contenders/${file}`)
const answer = await listener({ redisPort: Number(redisPort) })
const server = createServer((request, response) => {
  if (request.url === '/runs') response.end(String(ran()))
  else answer(request, response)
})
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: /** @type {import('node:net').AddressInfo} */ (server.address()).port })
})
process.on('disconnect', () => process.exit(0))
