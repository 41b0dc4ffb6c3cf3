import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
  UnauthorizedException,
} from '@nestjs/common'
import type { Request } from 'express'
import type { KeyStore } from 'hookonce/keys'
import { nestKeys } from 'hookonce/keys/nestjs'

export const KEY_STORE = Symbol('key store')

/**
 * The Idempotency-Key of a client. The order is written in the transaction that completes the key.
 */
@Injectable()
export class OrderKeys implements NestInterceptor {
  readonly #keys: NestInterceptor

  constructor(@Inject(KEY_STORE) store: KeyStore) {
    this.#keys = nestKeys<Request>({ store, tenant: customerOf, handler: 'transactional' })
  }

  intercept(context: ExecutionContext, next: CallHandler) {
    return this.#keys.intercept(context, next)
  }
}

/** Stands in for your authentication. */
export function customerOf(request: Request): string {
  const customer = request.header('x-customer')
  if (!customer) throw new UnauthorizedException('send the header x-customer')
  return customer
}
