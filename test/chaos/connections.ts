import { connect, type Socket } from 'node:net'

/*
 * Keep-alive connections of the senders, one request at a time on each. `fetch` takes longer to send
 * a delivery than the receiver takes to answer it.
 */
export interface Connections {
  /** Sends the bytes of a request. Returns the status; null: no answer arrived in time. */
  send(port: number, request: string, patienceMs: number): Promise<number | null>
  close(): void
}

const HEAD_END = '\r\n\r\n'

interface Connection {
  readonly socket: Socket
  /** Of the response that is being read. */
  unread: string
  /** Undefined: no request is under way. */
  answered: ((status: number | null) => void) | undefined
}

export function openConnections(): Connections {
  const idle = new Map<number, Connection[]>()
  const sockets = new Set<Socket>()

  function open(port: number): Connection {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const connection: Connection = { socket, unread: '', answered: undefined }
    sockets.add(socket)
    socket.setEncoding('latin1')
    // A broken connection also closes.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      forget(port, connection)
      connection.answered?.(null)
    })
    socket.on('data', (text) => {
      connection.unread += String(text)
      const status = statusOf(connection.unread)
      if (status === undefined) return
      const isLast = /\r\nconnection: *close/i.test(connection.unread)
      connection.unread = ''
      connection.answered?.(status)
      if (isLast) socket.destroy()
      else keep(port, connection)
    })
    return connection
  }

  function keep(port: number, connection: Connection): void {
    const kept = idle.get(port)
    if (kept) kept.push(connection)
    else idle.set(port, [connection])
  }

  function forget(port: number, connection: Connection): void {
    const left = idle.get(port)?.filter((other) => other !== connection)
    if (left && left.length > 0) idle.set(port, left)
    else idle.delete(port)
  }

  return {
    send(port, request, patienceMs) {
      const connection = idle.get(port)?.pop() ?? open(port)
      return new Promise((resolve) => {
        const timer = setTimeout(() => connection.socket.destroy(), patienceMs)
        connection.answered = (status) => {
          clearTimeout(timer)
          connection.answered = undefined
          resolve(status)
        }
        connection.socket.write(request)
      })
    },
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Undefined: the response is not complete. */
function statusOf(response: string): number | undefined {
  const headEnd = response.indexOf(HEAD_END)
  if (headEnd < 0) return undefined
  const length = /\r\ncontent-length: *(\d+)/i.exec(response.slice(0, headEnd))
  if (!length) throw new Error(`a response without Content-Length: ${response.slice(0, headEnd)}`)
  // `HTTP/1.1 202 …`
  return response.length < headEnd + HEAD_END.length + Number(length[1])
    ? undefined
    : Number(response.slice(9, 12))
}
