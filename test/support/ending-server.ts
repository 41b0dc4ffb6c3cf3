import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** A message of the server: its kind, its length, and its content. */
function message(kind: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(kind)
  head.writeInt32BE(content.length + 4, 1)
  return Buffer.concat([head, content])
}

const LOGGED_IN = message('R', Buffer.alloc(4))
const READY = message('Z', Buffer.from('I'))
const SHUTDOWN = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'))

/** The port of a server that closes each connection in the packet that ends the login. */
export async function endingServer(): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(Buffer.concat([LOGGED_IN, READY, SHUTDOWN])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}
