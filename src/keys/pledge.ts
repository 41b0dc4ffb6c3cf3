import { z } from 'zod'
import { MINUTE_MS } from '../model/durations.ts'

/*
 * The content of a pledge: everything needed to run a key's task, or send its request, once more.
 */

/**
 * How long a completer waits for the client. Clients that retry at all have usually done so by
 * then.
 */
export const completeAfterField = z
  .int()
  .positive()
  .default(5 * MINUTE_MS)
  .describe('how long a [completer](#complete-abandoned-requests) waits for the client')

const pledgeSchema = z.object({
  key: z.string(),
  madeAt: z.number(),
  /** The lifetime of the record. */
  ttlMs: z.number(),
})

const taskSchema = pledgeSchema.extend({
  tenant: z.string(),
  input: z.unknown(),
  label: z.string().optional(),
})
export type PledgedTask = z.output<typeof taskSchema>

const requestSchema = pledgeSchema.extend({
  method: z.string(),
  target: z.string(),
  headers: z.record(z.string(), z.string()),
  /** Base64. */
  body: z.string(),
})
/** A request as it was received, without the credentials of its sender. */
export type PledgedRequest = z.output<typeof requestSchema>

type Unsaved<Pledged> = Omit<Pledged, 'madeAt'>

export function pledgeBytes(pledged: Unsaved<PledgedTask> | Unsaved<PledgedRequest>): Uint8Array {
  return Buffer.from(JSON.stringify({ ...pledged, madeAt: Date.now() }))
}

export const readPledge = (bytes: Uint8Array) => pledgeSchema.parse(jsonOf(bytes))
export const readTask = (bytes: Uint8Array): PledgedTask => taskSchema.parse(jsonOf(bytes))
export const readRequest = (bytes: Uint8Array): PledgedRequest => requestSchema.parse(jsonOf(bytes))

function jsonOf(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString())
}
