// @ts-check
import { connect } from 'node:net'

const HEAD_END = '\r\n\r\n'

/**
 * One keep-alive connection with one request at a time. It parses just enough HTTP for servers that
 * send a Content-Length, which all contenders do. If a server announces that it closes the
 * connection, the next request uses a new one, as a provider's would.
 */
export class Connection {
  #port
  #socket
  #isClosing = false
  /** @type {Buffer | undefined} */
  #unread
  /** @type {((status: number) => void) | undefined} */
  #answered

  /** @param {number} port */
  static async open(port) {
    return new Connection(port, await connected(port))
  }

  /**
   * @param {number} port
   * @param {import('node:net').Socket} socket
   */
  constructor(port, socket) {
    this.#port = port
    this.#socket = this.#listening(socket)
  }

  /** @param {import('node:net').Socket} socket */
  #listening(socket) {
    // A broken connection answers its request with status 0; the run then counts an error and fails.
    const broken = () => socket === this.#socket && !this.#isClosing && this.#end(0)
    return socket
      .on('data', (chunk) => this.#read(chunk))
      .on('error', broken)
      .on('close', broken)
  }

  get usable() {
    return this.#isClosing || !this.#socket.destroyed
  }

  /**
   * @param {Buffer} request
   * @param {(status: number) => void} answered
   */
  send(request, answered) {
    if (!this.usable) return answered(0)
    this.#answered = answered
    if (this.#isClosing) void this.#sendAnew(request)
    else this.#socket.write(request)
  }

  /** @param {Buffer} request */
  async #sendAnew(request) {
    try {
      this.#socket = this.#listening(await connected(this.#port))
      this.#isClosing = false
      this.#socket.write(request)
    } catch {
      this.#end(0)
    }
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
    this.#isClosing = /\r\nconnection: *close/i.test(text.slice(0, headEnd))
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
 * @param {number} port
 * @returns {Promise<import('node:net').Socket>}
 */
function connected(port) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
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
