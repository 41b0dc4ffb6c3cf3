import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A raw connection to a server, for requests that no HTTP client would send. */
export interface RawConnection {
  readonly socket: Socket
  write(text: string): void
  /** All received data, when the server has closed the connection. */
  closed(): Promise<string>
}

export async function rawConnection(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let answer = ''
  socket.on('data', (chunk) => {
    answer += String(chunk)
  })
  // A connection that the server cuts is one of the expected results.
  socket.on('error', () => undefined)
  const closing = new Promise<string>((resolve) => socket.on('close', () => resolve(answer)))
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  onTestFinished(() => void socket.destroy())
  return {
    socket,
    write: (text) => void socket.write(text),
    closed: () => closing,
  }
}
