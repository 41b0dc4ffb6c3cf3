import { z } from 'zod'
import { HookonceError } from '../../model/errors.ts'
import { announceWork } from '../../operate/announce.ts'
import { type AttentionVerb, decideAttention, pageAttention } from '../../operate/attention.ts'
import { parseStorable } from './body.ts'
import { reasonOf, tenantFor } from './caller.ts'
import { pageWithCursors, readCursor } from './cursor.ts'
import { route } from './route.ts'
import { count, listFields, ownTenant, pageOf, tenantField, text, time, why } from './schemas.ts'

const tag = 'attention'

const unknownEffect = z.object({
  tenant: z.string(),
  key: z.string(),
  epoch: z.int(),
  mode: z.string(),
  downstreamKey: z.string().meta({
    description: 'The idempotency key that the called service received: search for the call by it.',
  }),
  startedAt: time.meta({ description: 'When it was called first, with this key.' }),
  endedAt: time.nullable().meta({ description: 'When its outcome became unknown.' }),
  inputHash: z
    .string()
    .nullable()
    .meta({ description: 'SHA-256 of the input that the handler declared. The input is not stored.' }),
  call: z
    .object({
      receiptId: z.string(),
      eventType: z.string().nullable(),
      eventKey: z.string().nullable(),
      source: z.string(),
      subscriber: z.string(),
      attempt: z.int().nullable(),
      error: z.string().nullable(),
    })
    .nullable()
    .meta({ description: 'The run that made the last call. Null fields are past their retention.' }),
  reason: z.string(),
  jobs: z
    .array(z.object({ receiptId: z.string(), source: z.string(), subscriber: z.string() }))
    .readonly()
    .meta({ description: 'The jobs that wait for it. Empty if they were abandoned.' }),
})

const list = route({
  method: 'GET',
  path: '/attention',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'List effects whose outcome is unknown, oldest first',
  query: z.strictObject({ ...listFields, ...tenantField }),
  response: pageOf(unknownEffect),
  async answer({ ledger, caller }, { query: { limit, cursor, tenant } }) {
    const filter = { tenant: tenantFor(caller, tenant) }
    const listQuery = { list: 'attention', filter }
    const page = await pageAttention(ledger, { ...filter, limit, ...readCursor(cursor, listQuery) })
    return pageWithCursors({ ...page, data: page.effects }, listQuery)
  },
})

const decision = { key: text.meta({ description: 'The key of the effect.' }), tenant: ownTenant, why }
const decided = z.object({
  key: z.string(),
  jobs: count.meta({ description: 'How many jobs continue, or failed.' }),
})

interface VerbSchema<Path extends string> {
  readonly path: Path
  readonly verb: AttentionVerb
  readonly summary: string
}

function verbRoute<const Path extends string>({ path, verb, summary }: VerbSchema<Path>) {
  return route({
    method: 'POST',
    path,
    access: { role: 'operator', scope: 'tenant' },
    tag,
    summary,
    body: z.strictObject(decision),
    response: decided,
    async answer({ ledger, caller }, { body: { key, tenant, why } }) {
      const of = tenantFor(caller, tenant) ?? 'default'
      const result = await decideAttention(ledger, { ...reasonOf(caller, why), key, tenant: of, verb })
      announceWork(ledger)
      return result
    },
  })
}

const confirmDone = route({
  method: 'POST',
  path: '/attention/confirm-done',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'The call happened: the waiting jobs continue with its result',
  body: z.strictObject({
    ...decision,
    result: z
      .unknown()
      .optional()
      .meta({ description: 'The result for the handler. Integers beyond 2^53 are refused.' }),
    resultText: z
      .string()
      .max(60_000)
      .optional()
      .meta({ description: 'Instead of `result`: its JSON text, kept with every digit.' }),
  }),
  response: decided,
  async answer({ ledger, caller }, { body: { key, tenant, why, result, resultText } }) {
    if (result !== undefined && resultText !== undefined)
      throw new HookonceError('REQUEST_INVALID', 'body.resultText: pass either `result` or `resultText`')
    if (resultText !== undefined) parseStorable(resultText, 'body.resultText')
    requireSafeIntegers(result)
    const of = tenantFor(caller, tenant) ?? 'default'
    const verb = 'confirm-done'
    const decision = { ...reasonOf(caller, why), key, tenant: of, verb, result, resultText } as const
    const decided = await decideAttention(ledger, decision)
    announceWork(ledger)
    return decided
  },
})

/** JavaScript has already rounded such a number, so the handler would get a different number. */
function requireSafeIntegers(value: unknown): void {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new HookonceError(
      'REQUEST_INVALID',
      'body.result: it holds an integer beyond 2^53, which JSON readers round: pass it as `resultText`',
    )
  if (typeof value === 'object' && value !== null)
    for (const part of Object.values(value)) requireSafeIntegers(part)
}

export const attentionRoutes = [
  list,
  confirmDone,
  verbRoute({
    path: '/attention/confirm-not-done',
    verb: 'confirm-not-done',
    summary: 'The call did not happen: it is made again, with a new key',
  }),
  verbRoute({
    path: '/attention/retry-same-key',
    verb: 'retry-same-key',
    summary: 'The call is made again with the same key: the called service must still know the key',
  }),
  verbRoute({
    path: '/attention/abandon',
    verb: 'abandon',
    summary: 'The waiting jobs fail; the effect stays unknown and listed',
  }),
] as const
