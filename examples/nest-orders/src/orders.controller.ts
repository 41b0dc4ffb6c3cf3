import { randomUUID } from 'node:crypto'
import {
  BadRequestException,
  Body,
  Controller,
  Get,
  Inject,
  Post,
  Req,
  UseInterceptors,
} from '@nestjs/common'
import type { Request } from 'express'
import { keyContext } from 'hookonce/keys/nestjs'
import pg from 'pg'
import { customerOf, OrderKeys } from './order-keys.ts'

@Controller('orders')
export class OrdersController {
  readonly #pool: pg.Pool

  constructor(@Inject(pg.Pool) pool: pg.Pool) {
    this.#pool = pool
  }

  @Post()
  @UseInterceptors(OrderKeys)
  async create(@Req() request: Request, @Body() body: { readonly sku?: unknown }) {
    if (typeof body.sku !== 'string') throw new BadRequestException('send { "sku": "…" }')
    const order = { id: randomUUID(), sku: body.sku, status: 'open' }
    const { tx } = keyContext<pg.PoolClient>(request)
    await tx.query('insert into orders (id, customer, sku, status) values ($1, $2, $3, $4)', [
      order.id,
      customerOf(request),
      order.sku,
      order.status,
    ])
    return order
  }

  @Get()
  async list(@Req() request: Request) {
    const { rows } = await this.#pool.query('select id, sku, status from orders where customer = $1', [
      customerOf(request),
    ])
    return rows
  }
}
