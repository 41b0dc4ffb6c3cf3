import { HookonceError } from '../../model/errors.ts'
import type { RunContext } from '../run.ts'

const contexts = new WeakMap<object, RunContext>()

export function setKeyContext(request: object, context: RunContext): void {
  contexts.set(request, context)
}

/**
 * What a handler behind keys may use: `step`, `signal`, `fence`, and `tx` where it is transactional. For frameworks whose
 * handlers get nothing but the request; `request` is what `tenant` was given.
 */
export function keyContext<Tx = unknown>(request: object): Omit<RunContext, 'tx'> & { readonly tx: Tx } {
  const context = contexts.get(request)
  if (!context)
    throw new HookonceError('CONFIG_INVALID', 'keyContext(): no idempotency keys are mounted on this route')
  // What the transaction is, is known to whoever chose the store.
  return context as Omit<RunContext, 'tx'> & { readonly tx: Tx }
}
