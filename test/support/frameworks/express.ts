import { Readable } from 'node:stream'
import compression from 'compression'
import express, { type ErrorRequestHandler } from 'express'
import { expressKeys, keyContext } from '../../../src/keys/http/adapters/express.ts'
import { type RunningApp, running, type Setup, told } from './framework.ts'

export async function startExpress({ keys, behaviour, ...setup }: Setup): Promise<RunningApp> {
  const app = express()
  const orders = express.Router()
  if (setup.compression === 'on') app.use(compression({ threshold: 0 }))
  if (setup.parser === 'before') app.use(express.json())
  orders.post('/orders', expressKeys(keys), express.json(), async (request, response) => {
    const {
      status = 200,
      headers = {},
      body,
    } = await behaviour({
      body: request.body,
      context: keyContext(request),
    })
    response.status(status).set(headers)
    if (body instanceof Readable) body.pipe(response)
    else response.send(body)
  })
  app.use('/api', orders)
  const onError: ErrorRequestHandler = (error, _request, response, _next) => {
    const { status, body } = told(error)
    response.status(status).json(body)
  }
  app.use(onError)
  return running(app.listen(0, '127.0.0.1'))
}
