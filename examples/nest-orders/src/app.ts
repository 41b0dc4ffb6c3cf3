import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import type { KeyStore } from 'hookonce/keys'
import pg from 'pg'
import { KEY_STORE, OrderKeys } from './order-keys.ts'
import { OrdersController } from './orders.controller.ts'
import { paymentHooks } from './payments.ts'

@Module({})
class AppModule {}

export interface Settings {
  readonly database: string
  readonly store: KeyStore
  readonly stripeSecret: string
}

export async function createApp({ database, store, stripeSecret }: Settings) {
  const hooks = paymentHooks(database, stripeSecret)
  const pool = new pg.Pool({ connectionString: database })
  pool.on('error', (error) => console.error(error))
  const root = {
    module: AppModule,
    controllers: [OrdersController],
    providers: [OrderKeys, { provide: pg.Pool, useValue: pool }, { provide: KEY_STORE, useValue: store }],
  }
  // rawBody: keys compare requests byte by byte.
  const app = await NestFactory.create<NestExpressApplication>(root, {
    rawBody: true,
    logger: ['error', 'warn'],
  })
  app.use('/webhooks', hooks.nest())
  return {
    hooks,
    app,
    async close() {
      await app.close()
      await pool.end()
    },
  }
}
