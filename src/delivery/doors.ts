import type { NodeRequest, NodeResponse } from '../http/framework-request.ts'
import type { BufferedRequest } from './buffered.ts'

/** What is known about a request besides the request itself. */
export interface Entry {
  /** The name of the source. Without it, the last segment of the path names the source. */
  readonly source?: string | undefined
  /** The address of the connection, if the platform tells it. */
  readonly peerAddress?: string | undefined
}

/** The ways into one receiver. Every framework is mounted on one of them (mounts/). */
export interface Doors {
  /** Requests of node:http, and of frameworks over it. */
  node(request: NodeRequest, response: NodeResponse, entry?: Pick<Entry, 'source'>): Promise<void>
  /** Requests of the fetch standard. */
  fetch(request: Request, entry?: Entry): Promise<Response>
  /** Requests whose body is in memory, and that are neither of these. */
  buffered(request: BufferedRequest, entry?: Entry): Promise<Response>
}
