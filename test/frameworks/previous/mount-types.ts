import type { INestApplication } from '@nestjs/common'
import type { FastifyInstance } from 'fastify'
import type { Hono } from 'hono'
import type { Mounts } from '../../../src/mounts/contract.ts'

/**
 * Compiled, never run: hookonce fits the types of those previous majors that have their own types.
 */
export function mountInAll(
  receiver: Mounts,
  { fastify, hono, nest }: { fastify: FastifyInstance; hono: Hono; nest: INestApplication },
): void {
  fastify.register(receiver.fastify(), { prefix: '/webhooks' })
  hono.all('/webhooks/:source', receiver.hono())
  nest.use('/webhooks', receiver.nest())
}
