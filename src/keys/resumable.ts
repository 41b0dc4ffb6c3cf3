import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import { HookonceError } from '../model/errors.ts'
import type { Completable } from './complete.ts'
import type { KeyEvent } from './events.ts'
import { keyId } from './identity.ts'
import { type OnceContext, runOnce } from './once.ts'
import { completeAfterField, pledgeBytes, readTask } from './pledge.ts'
import { policyFields } from './policy.ts'
import type { DuePledge, KeyStore } from './store.ts'

const { handler: _, onCrash: _always, ...fields } = policyFields

const optionsSchema = strict({
  ...fields,
  completeAfterMs: completeAfterField,
  observe: z
    .custom<(event: KeyEvent) => void>((value) => typeof value === 'function', 'must be a function')
    .optional(),
})
export type ResumableOptions = z.input<typeof optionsSchema>

const whoseSchema = strict({
  /** Keys of different tenants never collide. Pass 'global' if there is only one tenant. */
  tenant: z
    .string({ error: "is required: the owner of the key, or 'global' if there is only one tenant" })
    .min(1),
  /** The id of the message or job. Stored in the record to help people who inspect it. */
  label: z.string().max(200).optional(),
})

/** Runs once per key, like `once()`. A completer finishes runs that were left unfinished. */
export interface Resumable<Input, Value> extends Completable {
  (key: string, input: Input, whose: z.input<typeof whoseSchema>): Promise<Value>
}

/**
 * Creates a named task whose finished steps are stored. A run after a failure or crash does not
 * repeat them. Its input is stored when the first step begins, so that a completer can run the task
 * if no caller retries it.
 */
export function resumable<Input, Value>(
  store: KeyStore,
  taskName: string,
  run: (input: Input, context: OnceContext) => Value | Promise<Value>,
  options: ResumableOptions = {},
): Resumable<Input, Value> {
  const { completeAfterMs, observe, ...policy } = check(optionsSchema, options, 'resumable()')
  const where = `resumable("${taskName}")`
  if (taskName === '')
    throw new HookonceError('CONFIG_INVALID', 'resumable(): the task name must not be empty')
  if (!store.steps || !store.pledges)
    throw new HookonceError(
      'CONFIG_INVALID',
      `${where} needs a store with steps and pledges: postgresKeys(), redisKeys() or memoryKeys()`,
    )
  const policyOfTask = { ...policy, handler: 'resumable', onCrash: 'auto' } as const

  async function task(key: string, input: Input, whose: z.input<typeof whoseSchema>): Promise<Value> {
    const { tenant, label } = check(whoseSchema, whose, where)
    return runOnce(
      store,
      key,
      (context) => run(input, context),
      { tenant, input, label, observe, policy: policyOfTask },
      {
        pledge: {
          name: taskName,
          dueMs: completeAfterMs,
          bytes: () => pledgeBytes({ key, tenant, input, label, ttlMs: policy.ttlMs }),
        },
      },
    )
  }

  async function resume({ id, bytes }: DuePledge): Promise<Value> {
    const { key, tenant, input, label } = readTask(bytes)
    if (keyId(tenant, key) !== id)
      throw new HookonceError('PLEDGE_GONE', `the pledge of ${where} does not belong to its key`)
    return runOnce(
      store,
      key,
      // The input has been through JSON, like the input of a message.
      (context) => run(input as Input, context),
      { tenant, input, label, observe, policy: policyOfTask },
      { resumes: true },
    )
  }

  return Object.assign(task, { taskName, store, resume })
}
