import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A destination that only speaks TCP: it answers with any bytes, or with none. */
export interface TcpDestination {
  readonly url: string
  /** The number of connections so far. */
  readonly connections: () => number
  /** The number of open connections. */
  readonly open: () => number
}

/** `answer` is called when the headers of a request have arrived. */
export async function tcpDestination(
  answer: (socket: Socket, head: string) => void,
): Promise<TcpDestination> {
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    let head = ''
    socket.on('data', (chunk) => {
      const isKnown = head.includes('\r\n\r\n')
      head += String(chunk)
      if (!isKnown && head.includes('\r\n\r\n')) answer(socket, head)
    })
    // The gateway may break the connection at any time.
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, connections: () => connections, open: () => sockets.size }
}
