import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Doors, Entry } from '../delivery/doors.ts'

/** The part of a Fastify instance that the plugin uses. */
export interface FastifyScope {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    contentType: string,
    parser: (request: object, payload: object, done: (error: Error | null) => void) => void,
  ): unknown
  all(path: string, handler: (request: FastifyRequest, reply: FastifyReply) => Promise<void>): unknown
}

interface FastifyRequest {
  readonly raw: IncomingMessage
}

interface FastifyReply {
  readonly raw: ServerResponse
  hijack(): unknown
}

export type FastifyPlugin = (app: FastifyScope) => Promise<void>

/**
 * A plugin with its own scope. Parsers of the app do not apply in it, so bodies arrive unread, and
 * the limits of hookonce apply instead of `bodyLimit`.
 */
export function fastifyPlugin(doors: Doors, entry: Entry): FastifyPlugin {
  return async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
    // The prefix itself is a route for a plugin with a `source`.
    for (const path of ['/', '/*']) app.all(path, (request, reply) => doors.node(request, reply, entry))
  }
}
