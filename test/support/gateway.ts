import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { stripe } from '../../src/sources/index.ts'
import { temporaryDirectory } from './cli.ts'
import { listening } from './listening-server.ts'

/* A gateway run by `hookonce serve`, with one source and one destination. */

export const SECRET = 'whsec_of_the_gateway'
export const FORWARD_SECRET = `whsec_${Buffer.from('a secret that signs what is forwarded').toString('base64')}`
export const ENV = { STRIPE_SECRET: SECRET, FORWARD_SECRET }

/** A destination that accepts every request. */
export async function destination(): Promise<{ url: string; bodies: string[] }> {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    bodies.push(body)
    response.writeHead(204).end()
  })
  return { url: `${await listening(server)}/hooks`, bodies }
}

export function configFile(config: unknown): string {
  const path = join(temporaryDirectory(), 'hookonce.json')
  writeFileSync(path, typeof config === 'string' ? config : JSON.stringify(config))
  return path
}

export const configTo = (url: string): object => ({
  sources: { stripe: { provider: 'stripe', secret: 'env:STRIPE_SECRET' } },
  destinations: {
    app: { url, secret: 'env:FORWARD_SECRET', types: 'invoice.*', allowPrivate: ['127.0.0.1'] },
  },
})

export const serveArgs = (path: string, ...more: string[]): string[] => [
  'serve',
  '--config',
  path,
  '--port',
  '0',
  '--host',
  '127.0.0.1',
  ...more,
]

export async function deliver(port: number, id: string, type = 'invoice.paid'): Promise<number> {
  const body = JSON.stringify({ id, type })
  const headers = stripe({ secret: SECRET }).sign({ body })
  return (await fetch(`http://127.0.0.1:${port}/in/stripe`, { method: 'POST', body, headers })).status
}
