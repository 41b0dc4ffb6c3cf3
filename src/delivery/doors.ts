import type { NodeRequest, NodeResponse } from '../http/framework-request.ts'
import type { BufferedRequest } from './buffered.ts'

/** The facts about a request that are not part of it. */
export interface Entry {
  /** The name of the source. Without it, the last segment of the path names the source. */
  readonly source?: string | undefined
  /** The address of the connection, if the platform provides it. */
  readonly peerAddress?: string | undefined
}

/** The entry points of one receiver. Every framework is mounted on one of them (mounts/). */
export interface Doors {
  /** Requests of node:http, and of frameworks over it. */
  node(request: NodeRequest, response: NodeResponse, entry?: Pick<Entry, 'source'>): Promise<void>
  /** Requests of the fetch standard. */
  fetch(request: Request, entry?: Entry): Promise<Response>
  /** Requests whose body is in memory, and which are neither of these two. */
  buffered(request: BufferedRequest, entry?: Entry): Promise<Response>
}
