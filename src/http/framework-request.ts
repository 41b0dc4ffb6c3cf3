import type { IncomingMessage, ServerResponse } from 'node:http'
import { types } from 'node:util'

/*
 * Requests of node:http in the forms of various frameworks, and the bytes of bodies that were read
 * before hookonce ran.
 */

/** A request of node:http, or of a framework that has it in `raw`, as Fastify's has. */
export type NodeRequest = IncomingMessage | { readonly raw: IncomingMessage }
/** A response of node:http, or Fastify's reply. */
export type NodeResponse = ServerResponse | { readonly raw: ServerResponse; hijack(): unknown }

export function rawRequest(request: NodeRequest): IncomingMessage {
  return 'raw' in request ? request.raw : request
}

/** Takes the response over from Fastify, which would otherwise send its own response. */
export function rawResponse(response: NodeResponse): ServerResponse {
  if (!('raw' in response)) return response
  response.hijack()
  return response.raw
}

/**
 * The bytes of a body that was read before hookonce ran: `rawBody` of NestJS, Firebase,
 * fastify-raw-body and `express.json({ verify })`; `body` of `express.raw()` and of the servers for
 * AWS Lambda.
 */
export function keptBytes(request: object): Buffer | undefined {
  const { rawBody, body } = request as { rawBody?: unknown; body?: unknown }
  return bufferOf(rawBody) ?? bufferOf(body)
}

/** instanceof would fail: test runners have their own Uint8Array. */
function bufferOf(bytes: unknown): Buffer | undefined {
  return types.isUint8Array(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : undefined
}

/**
 * The text that a parser kept in `rawBody`, as koa-bodyparser does. Decoding loses a byte order mark
 * and bytes that are not UTF-8, so kept bytes are better.
 */
export function keptRawText(request: object): Buffer | undefined {
  const { rawBody } = request as { rawBody?: unknown }
  return typeof rawBody === 'string' ? Buffer.from(rawBody) : undefined
}

/** The bytes of a body that was read as text and not parsed. For a stream that has ended. */
export function keptText(request: object): Buffer | undefined {
  const { body } = request as { body?: unknown }
  return typeof body === 'string' ? Buffer.from(body) : undefined
}

const WAYS = {
  fastify:
    "app.register(hooks.fastify(), { prefix: '/webhooks' }), or app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => done(null, body))",
  express:
    "app.use('/webhooks', hooks.express()) above the parsers, or app.use(express.json({ verify: (request, response, bytes) => { request.rawBody = bytes } })), or NestFactory.create(AppModule, { rawBody: true })",
  koa: 'mount hookonce above the body parser, or use koa-bodyparser, which keeps them in ctx.request.rawBody',
  next: 'export const config = { api: { bodyParser: false } }',
  any: 'request.rawBody = bytes, or mount hookonce before the parser (in Fastify: pass its own request and reply)',
}

/** The line of code that makes the framework of this request keep the bytes of the body. */
export function howToKeepBytes(request: object): string {
  return `the body was read before it reached hookonce, and signatures are over its bytes. Keep them: ${WAYS[frameworkOf(request)]}`
}

function frameworkOf(request: object): keyof typeof WAYS {
  if ('raw' in request && 'ctx' in request) return 'koa'
  if ('raw' in request && 'server' in request) return 'fastify'
  if ('app' in request && 'originalUrl' in request) return 'express'
  // An API route of Next.js under pages/ has both properties.
  return 'cookies' in request && 'query' in request ? 'next' : 'any'
}
