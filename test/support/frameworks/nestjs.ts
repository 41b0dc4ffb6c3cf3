import 'reflect-metadata'
import { Readable } from 'node:stream'
import compressByFastify from '@fastify/compress'
import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  type INestApplication,
  Module,
  Post,
  Req,
  Res,
  StreamableFile,
  UseFilters,
  UseInterceptors,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import compression from 'compression'
import type { FastifyInstance } from 'fastify'
import { keyContext, nestKeys } from '../../../src/keys/http/adapters/nestjs.ts'
import { type RunningApp, type Setup, told } from './framework.ts'

/** The common interface of Express and Fastify that is used here. */
interface Request {
  readonly body: unknown
}
interface Response {
  status(code: number): this
  header(name: string, value: string): this
  send(body: object): unknown
}

/**
 * Decorators are called as functions: the compiler of these tests does not support the kind that
 * Nest uses.
 */
function moduleOf({ keys, behaviour }: Setup): new () => object {
  class Orders {
    async create(request: Request, response: Response): Promise<object> {
      const {
        status = 200,
        headers = {},
        body,
      } = await behaviour({
        body: request.body,
        context: keyContext(request),
      })
      response.status(status)
      for (const [name, value] of Object.entries(headers)) response.header(name, value)
      if (!(body instanceof Readable || body instanceof Buffer)) return body
      const type = headers['content-type']
      return new StreamableFile(body as Buffer, type === undefined ? {} : { type })
    }
  }
  class Told implements ExceptionFilter {
    catch(error: unknown, host: ArgumentsHost): void {
      const { status, body } = told(error)
      host.switchToHttp().getResponse<Response>().status(status).send(body)
    }
  }
  class App {}
  const create = Object.getOwnPropertyDescriptor(Orders.prototype, 'create') ?? {}
  Req()(Orders.prototype, 'create', 0)
  Res({ passthrough: true })(Orders.prototype, 'create', 1)
  Post('orders')(Orders.prototype, 'create', create)
  UseInterceptors(nestKeys(keys))(Orders.prototype, 'create', create)
  UseFilters(new Told())(Orders)
  Catch()(Told)
  Controller('api')(Orders)
  Module({ controllers: [Orders] })(App)
  return App
}

const OPTIONS = { logger: false, rawBody: true, forceCloseConnections: true } as const

export async function startNestOnExpress(setup: Setup): Promise<RunningApp> {
  const app = await NestFactory.create(moduleOf(setup), OPTIONS)
  if (setup.compression === 'on') app.use(compression({ threshold: 0 }))
  return running(app)
}

export async function startNestOnFastify(setup: Setup): Promise<RunningApp> {
  const app = await NestFactory.create<NestFastifyApplication>(
    moduleOf(setup),
    new FastifyAdapter({ forceCloseConnections: true }),
    OPTIONS,
  )
  const fastify = app.getHttpAdapter().getInstance() as unknown as FastifyInstance
  if (setup.compression === 'on')
    await fastify.register(compressByFastify, { threshold: 0, encodings: ['gzip'] })
  return running(app)
}

async function running(app: INestApplication): Promise<RunningApp> {
  await app.listen(0, '127.0.0.1')
  return { url: await app.getUrl(), server: app.getHttpServer(), close: () => app.close() }
}
