import compress from '@fastify/compress'
import Fastify from 'fastify'
import { fastifyKeys, keyContext } from '../../../src/keys/http/adapters/fastify.ts'
import { type RunningApp, type Setup, told } from './framework.ts'

export async function startFastify({ keys, behaviour, ...setup }: Setup): Promise<RunningApp> {
  const app = Fastify({ forceCloseConnections: true })
  if (setup.compression === 'on') await app.register(compress, { threshold: 0, encodings: ['gzip'] })
  await app.register(fastifyKeys, keys)
  app.setErrorHandler((error, _request, reply) => {
    const { status, body } = told(error)
    return reply.code(status).send(body)
  })
  app.post('/api/orders', async (request, reply) => {
    const {
      status = 200,
      headers = {},
      body,
    } = await behaviour({
      body: request.body,
      context: keyContext(request),
    })
    return reply.code(status).headers(headers).send(body)
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { url, server: app.server, close: () => app.close() }
}
