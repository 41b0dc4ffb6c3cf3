// @ts-check
import { connect } from 'node:net'

const HEAD_END = '\r\n\r\n'

/**
 * One keep-alive connection with one request at a time. It reads just enough HTTP for servers that send a
 * Content-Length, which all contenders do.
 */
export class Connection {
  #socket
  /** @type {Buffer | undefined} */
  #unread
  /** @type {((status: number) => void) | undefined} */
  #answered

  /** @param {number} port */
  static open(port) {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve(new Connection(socket))
      })
    })
  }

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.#socket = socket
    socket.on('data', (chunk) => this.#read(chunk))
    // A broken connection answers its request with status 0; the run then counts an error and fails.
    socket.on('error', () => this.#end(0))
    socket.on('close', () => this.#end(0))
  }

  get usable() {
    return !this.#socket.destroyed
  }

  /**
   * @param {Buffer} request
   * @param {(status: number) => void} answered
   */
  send(request, answered) {
    if (!this.usable) return answered(0)
    this.#answered = answered
    this.#socket.write(request)
  }

  close() {
    this.#socket.destroy()
  }

  /** @param {Buffer} chunk */
  #read(chunk) {
    const bytes = this.#unread ? Buffer.concat([this.#unread, chunk]) : chunk
    this.#unread = undefined
    const text = bytes.toString('latin1')
    const headEnd = text.indexOf(HEAD_END)
    if (headEnd < 0 || bytes.length < headEnd + HEAD_END.length + contentLength(text, headEnd)) {
      this.#unread = bytes
      return
    }
    // `HTTP/1.1 202 …`
    this.#end(Number(text.slice(9, 12)))
  }

  /** @param {number} status */
  #end(status) {
    const answered = this.#answered
    this.#answered = undefined
    answered?.(status)
  }
}

/**
 * @param {string} text
 * @param {number} headEnd
 */
function contentLength(text, headEnd) {
  const found = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd))
  if (!found) throw new Error(`the server sent no Content-Length:\n${text.slice(0, headEnd)}`)
  return Number(found[1])
}
