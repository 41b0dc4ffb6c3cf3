import * as diagnostics from 'node:diagnostics_channel'
import { IncomingMessage, ServerResponse } from 'node:http'
import { HeldBytes, type Share } from './held-bytes.ts'

/*
 * The bytes of bodies that a parser of the framework reads before hookonce runs, as
 * `app.use(express.json())` does. A parser keeps only the parsed value, and signatures cover the
 * bytes. Node announces each request on a diagnostics channel before any middleware sees it. From
 * then on, the chunks that Node pushes into the stream are also kept here, until the response ends.
 *
 * The path of a mount is not known before its first request, so this watches every request of the
 * process whose body the usual parsers read. Chunks are kept by reference, within two limits. Above
 * them the chunks are dropped, and a delivery gets `BODY_ALREADY_READ`, as without this file.
 */

/** The default of `limits.maxBodyBytes`. The usual parsers refuse bodies over 100 kB or 1 MB. */
const MAX_BODY_BYTES = 5 * 1024 * 1024
/** For all requests of the process together: 640 bodies of 100 kB. */
const MAX_TOTAL_BYTES = 64 * 1024 * 1024
/** The types that the usual parsers read. Uploads of files have others, and can be long. */
const PARSED_TYPES = /^(?:application\/(?:[\w.+-]*json|[\w.+-]*xml|x-www-form-urlencoded)|text\/)/i

const held = new HeldBytes(MAX_TOTAL_BYTES)
const bodies = new WeakMap<IncomingMessage, KeptBody>()
let isWatching = false

/** Called by each mount that frameworks run after their parsers. Watches from the first call on. */
export function keepParsedBytes(): void {
  if (isWatching) return
  isWatching = true
  diagnostics.subscribe('http.server.request.start', (message) => {
    const { request, response } = message as { request?: unknown; response?: unknown }
    if (!(request instanceof IncomingMessage && response instanceof ServerResponse)) return
    if (!PARSED_TYPES.test(request.headers['content-type'] ?? '')) return
    if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return
    keep(request, response)
  })
}

/** The whole body of a request whose stream has ended, or undefined if it was not kept. */
export function parsedBytes(request: IncomingMessage): Buffer | undefined {
  return bodies.get(request)?.bytes()
}

/** For a request that hookonce reads by itself. */
export function dropParsedBytes(request: IncomingMessage): void {
  bodies.get(request)?.drop()
}

function keep(request: IncomingMessage, response: ServerResponse): void {
  const body = new KeptBody(held.share())
  bodies.set(request, body)
  const push = request.push
  request.push = (chunk, encoding) => {
    if (chunk !== null) body.add(chunk)
    return push.call(request, chunk, encoding)
  }
  // The request closes when its body has been read, which may be long before hookonce runs.
  response.once('close', () => body.drop())
}

class KeptBody {
  readonly #share: Share
  #chunks: Buffer[] | undefined = []
  #size = 0

  constructor(share: Share) {
    this.#share = share
  }

  add(chunk: Buffer): void {
    if (this.#chunks === undefined) return
    this.#size += chunk.length
    if (this.#share.hold(chunk.length) && this.#size <= MAX_BODY_BYTES) this.#chunks.push(chunk)
    else this.drop()
  }

  bytes(): Buffer | undefined {
    return this.#chunks && Buffer.concat(this.#chunks, this.#size)
  }

  drop(): void {
    this.#chunks = undefined
    this.#share.release()
  }
}
