import * as diagnostics from 'node:diagnostics_channel'
import { IncomingMessage, ServerResponse } from 'node:http'
import { type BodyFault, overloaded } from './bounded-body.ts'
import { HeldBytes, type Share } from './held-bytes.ts'

/*
 * The bytes of bodies that a parser of the framework reads before hookonce runs, as
 * `app.use(express.json())` does. A parser keeps only the parsed value, and signatures cover the
 * bytes. Node announces each request on a diagnostics channel before any middleware sees it. From
 * then on, the chunks that Node pushes into the stream are also kept here, until the response ends.
 *
 * The path of a mount is not known before its first request, so this watches every request of the
 * process whose body the usual parsers read. Chunks are kept by reference, within two limits. A body
 * over its own limit is not kept, and a delivery gets `BODY_ALREADY_READ`, as without this file.
 *
 * If all bodies together are over their limit, the oldest are evicted. A delivery reaches hookonce
 * soon after its parser, so the oldest usually belong to responses that other routes are still
 * sending. A delivery whose bytes were evicted gets `OVERLOADED`, and its sender retries.
 */

/** The default of `limits.maxBodyBytes`. The usual parsers refuse bodies over 100 kB or 1 MB. */
const MAX_BODY_BYTES = 5 * 1024 * 1024
/** For all requests of the process together: 640 bodies of 100 kB. */
const MAX_TOTAL_BYTES = 64 * 1024 * 1024
/** The types that the usual parsers read. Uploads of files have others, and can be long. */
const PARSED_TYPES = /^(?:application\/(?:[\w.+-]*json|[\w.+-]*xml|x-www-form-urlencoded)|text\/)/i

const held = new HeldBytes(MAX_TOTAL_BYTES)
/** Bodies with bytes, by the arrival of their first chunk. */
const holders = new Set<KeptBody>()
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

/**
 * The whole body of a request whose stream has ended, or undefined if it was not kept. Returns a
 * fault if it was evicted.
 */
export function parsedBytes(request: IncomingMessage): Buffer | BodyFault | undefined {
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

function evictOldest(): void {
  for (const body of holders) {
    if (held.hasRoomFor(0)) return
    body.evict()
  }
}

class KeptBody {
  readonly #share: Share
  #chunks: Buffer[] | undefined = []
  #size = 0
  #wasEvicted = false

  constructor(share: Share) {
    this.#share = share
  }

  add(chunk: Buffer): void {
    if (this.#chunks === undefined) return
    this.#size += chunk.length
    if (this.#size > MAX_BODY_BYTES) return this.drop()
    this.#chunks.push(chunk)
    holders.add(this)
    if (!this.#share.hold(chunk.length)) evictOldest()
  }

  bytes(): Buffer | BodyFault | undefined {
    if (this.#wasEvicted) return overloaded('other requests of this process left no room for this body')
    return this.#chunks && Buffer.concat(this.#chunks, this.#size)
  }

  evict(): void {
    this.#wasEvicted = true
    this.drop()
  }

  drop(): void {
    this.#chunks = undefined
    this.#share.release()
    holders.delete(this)
  }
}
