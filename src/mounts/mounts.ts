import type { Doors } from '../delivery/doors.ts'
import { keepParsedBytes } from '../http/parsed-bytes.ts'
import type { MountOptions, Mounts, NodeHandler } from './contract.ts'
import { fastifyPlugin } from './fastify.ts'
import { honoHandler } from './hono.ts'
import { koaMiddleware } from './koa.ts'
import { lambdaHandler } from './lambda.ts'
import { nextRoute } from './next.ts'

/** One receiver, mounted in any framework. */
export function mounts<Name extends string>(doors: Doors): Mounts<Name> {
  const node = nodeHandlers(doors)
  /** For mounts that a framework may run after its parsers. */
  function keepingBytes<Mount>(mount: (options?: MountOptions) => Mount): (options?: MountOptions) => Mount {
    return (options) => {
      keepParsedBytes()
      return mount(options)
    }
  }
  return {
    express: keepingBytes(node),
    fastify: (options = {}) => fastifyPlugin(doors, options),
    hono: keepingBytes((options = {}) => honoHandler(doors, options)),
    koa: keepingBytes((options = {}) => koaMiddleware(doors, options)),
    // Nest's middleware has the form of Express on both of its platforms.
    nest: keepingBytes(node),
    next: (options = {}) => nextRoute(doors, options),
    lambda: (options = {}) => lambdaHandler(doors, options),
  }
}

export function nodeHandlers(doors: Doors): (options?: MountOptions) => NodeHandler {
  return (options = {}) =>
    (request, response) =>
      doors.node(request, response, options)
}
