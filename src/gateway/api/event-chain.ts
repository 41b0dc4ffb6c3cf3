import { z } from 'zod'
import { count, time } from './schemas.ts'

const decision = z.object({
  at: time,
  actor: z.string(),
  action: z.string(),
  why: z.string(),
  subject: z.string(),
  detail: z.record(z.string(), z.unknown()).readonly(),
  address: z.string().nullable(),
})

/** One event, from its deliveries to the decisions on it. */
export const eventChain = z.object({
  receipt: z.object({
    id: z.string(),
    receivedAt: time,
    occurredAt: time.nullable(),
    tenant: z.string(),
    source: z.string(),
    eventKey: z.string(),
    eventType: z.string(),
    objectId: z.string().nullable(),
    secret: z.int().meta({ description: 'Which of the source’s secrets matched, from 1.' }),
    bodySha256: z.string().nullable().meta({ description: 'Null: the event was imported, without a body.' }),
    bodyBytes: z.int().nullable().meta({ description: 'Null: the body is past its retention.' }),
    headers: z.string().nullable().meta({
      description: 'Lines of `name: value`. Null: past retention, or not requested with `payloads`.',
    }),
    unreadable: z
      .object({ code: z.string(), message: z.string() })
      .nullable()
      .meta({ description: 'Why an encrypted payload cannot be read.' }),
  }),
  reconciled: z.boolean().meta({ description: 'Whether the provider’s API listed it.' }),
  imported: z.boolean().meta({ description: 'Whether another system had processed it before.' }),
  deliveries: z.object({
    count,
    firstAt: time,
    firstRepeatAt: time
      .nullable()
      .meta({ description: 'When the first further delivery arrived. Null: there was none.' }),
    lastAt: time,
    mismatches: count,
  }),
  jobs: z
    .array(
      z.object({
        subscriber: z.string(),
        state: z.string(),
        outcome: z.string().meta({
          description:
            'The state; for a processed job that changed nothing, `stale` (the event was outdated) or `moved` (another subscriber got the job).',
        }),
        attempt: z.int(),
        crashes: z.int(),
        fence: z.int(),
        bornAt: time,
        dueAt: time
          .nullable()
          .meta({ description: 'Null: an earlier job with its order key is unfinished.' }),
        startedAt: time.nullable(),
        finishedAt: time.nullable(),
        worker: z.int().nullable(),
        holder: z.object({ host: z.string(), pid: z.int(), isAlive: z.boolean() }).nullable().meta({
          description: 'The worker that runs it. Not alive: no other worker has taken over the job yet.',
        }),
        reason: z.string().nullable(),
        held: z.boolean().meta({ description: 'Whether a pause holds it.' }),
        // Omits the reason: a circuit may be shared with other tenants.
        circuit: z
          .object({
            state: z.enum(['closed', 'open', 'half-open']),
            since: time,
            nextProbeAt: time.nullable(),
          })
          .nullable()
          .meta({ description: 'The circuit that holds it. Null: none does.' }),
        steps: z.array(z.string()).readonly(),
      }),
    )
    .readonly(),
  attempts: z
    .array(
      z.object({
        subscriber: z.string(),
        number: z.int(),
        fence: z.int(),
        startedAt: time,
        endedAt: time.nullable().meta({
          description:
            'Of a crashed run: when the crash was noticed. Null: it runs, or it was handed back and does not count.',
        }),
        outcome: z.string(),
        error: z.string().nullable(),
        stack: z.string().nullable().meta({
          description:
            'Where the error and its causes were thrown: lines of `at …` and `caused by …`. Null: not known.',
        }),
      }),
    )
    .readonly(),
  steps: z
    .array(z.object({ subscriber: z.string(), name: z.string(), at: time }))
    .readonly()
    .meta({
      description: 'Steps, transactions and writes that the jobs have done, with the time of their commit.',
    }),
  effects: z
    .array(
      z.object({
        key: z.string(),
        epoch: z.int(),
        mode: z.string(),
        state: z.string(),
        reason: z.string().nullable(),
        startedAt: time,
        endedAt: time.nullable(),
        reopenedAt: time.nullable(),
        downstreamKey: z.string(),
        resultText: z
          .string()
          .nullable()
          .meta({ description: 'As JSON text. Null: it has none, or it was not requested with `payloads`.' }),
        subscriber: z.string(),
      }),
    )
    .readonly(),
  messages: z
    .array(
      z.object({
        id: z.string(),
        topic: z.string(),
        key: z.string().nullable(),
        state: z.string(),
        createdAt: time,
        finishedAt: time.nullable(),
        subscriber: z.string(),
      }),
    )
    .readonly(),
  decisions: z.array(decision).readonly(),
  paused: z
    .array(
      z.object({ tenant: z.string(), source: z.string(), subscriber: z.string().nullable(), pausedAt: time }),
    )
    .readonly(),
})
