import { HookonceError } from '../../model/errors.ts'
import type { RunContext } from '../run.ts'

const contexts = new WeakMap<object, RunContext>()

export function setKeyContext(request: object, context: RunContext): void {
  contexts.set(request, context)
}

/**
 * The context of a handler behind keys: `step`, `signal`, `fence`, and `tx` if it is transactional.
 * For frameworks whose handlers receive only the request. `request` is the object that `tenant`
 * received.
 */
export function keyContext<Tx = unknown>(request: object): Omit<RunContext, 'tx'> & { readonly tx: Tx } {
  const context = contexts.get(request)
  if (!context)
    throw new HookonceError('CONFIG_INVALID', 'keyContext(): no idempotency keys are mounted on this route')
  // The caller knows the transaction type from the store it chose.
  return context as Omit<RunContext, 'tx'> & { readonly tx: Tx }
}
