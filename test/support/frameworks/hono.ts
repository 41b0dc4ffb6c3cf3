import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { compress } from 'hono/compress'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { honoKeys, keyContext } from '../../../src/keys/http/adapters/hono.ts'
import { type RunningApp, type Setup, told } from './framework.ts'

export async function startHono({ keys, behaviour, ...setup }: Setup): Promise<RunningApp> {
  const app = new Hono()
  if (setup.compression === 'on') app.use(compress({ threshold: 0, encoding: 'gzip' }))
  if (setup.parser === 'before')
    app.use(async (c, next) => {
      await c.req.json()
      await next()
    })
  app.post('/api/orders', honoKeys(keys), async (c) => {
    const {
      status = 200,
      headers = {},
      body,
    } = await behaviour({
      body: await c.req.json(),
      context: keyContext(c),
    })
    const code = status as ContentfulStatusCode
    if (body instanceof Readable) return c.body(Readable.toWeb(body) as ReadableStream, code, headers)
    if (body instanceof Buffer) return c.body(Uint8Array.from(body), code, headers)
    return c.json(body, code, headers)
  })
  app.onError((error, c) => {
    const { status, body } = told(error)
    return c.json(body, status as ContentfulStatusCode)
  })
  const server = createAdaptorServer({ fetch: app.fetch })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      if ('closeAllConnections' in server) server.closeAllConnections()
      server.close()
    },
  }
}
