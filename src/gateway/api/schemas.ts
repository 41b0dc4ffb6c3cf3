import { z } from 'zod'

/* Schemas that several subjects share. */

/** A time in a response: a Date in the program, ISO 8601 in the JSON. */
export const time = z.codec(z.date(), z.iso.datetime(), {
  decode: (date) => date.toISOString(),
  encode: (text) => new Date(text),
})

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const AGO = /^(\d{1,6})([smhd])$/

/** A time in a request: ISO 8601, or a duration before now. */
export const moment = z
  .string()
  .regex(
    /^(\d{1,6}[smhd]|\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?)$/,
    'a time is written as 2h (ago) or 2026-01-31T12:00:00Z',
  )
  .transform((text, context) => {
    const [, count, unit] = AGO.exec(text) ?? []
    const ago = count === undefined ? undefined : Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS]
    const date = ago === undefined ? new Date(text) : new Date(Date.now() - ago)
    if (!Number.isNaN(date.getTime())) return date
    context.addIssue({ code: 'custom', message: `"${text}" is not a valid time` })
    return z.NEVER
  })
  .meta({ description: 'ISO 8601, or how long ago: 90s, 15m, 2h, 7d.', example: '2h' })

/** PostgreSQL's text cannot hold a NUL. Every name in a ledger is at most this long. */
export const text = z
  .string()
  .min(1)
  .max(1_024)
  .regex(/^[^\0]*$/, 'must not hold a NUL')

export const name = text.max(512)

export const why = text.meta({
  description: 'The reason. The audit records it, with the caller and its address.',
})

const MAX_LIMIT = 200

/** The parameters of every list. */
export const listFields = {
  limit: z
    .int()
    .min(1)
    .max(MAX_LIMIT)
    .default(50)
    .meta({ description: `At most this many, up to ${MAX_LIMIT}.` }),
  cursor: z
    .string()
    .max(1_024)
    .optional()
    .meta({ description: '`next` or `previous` of a page, with the same filters.' }),
}

/** Filters that several routes share. */
export const sourceFilter = name.optional().meta({ description: 'Only this source.' })
export const subscriberFilter = name.optional().meta({ description: 'Only this subscriber.' })
export const typeFilter = name
  .optional()
  .meta({ description: 'An event type, or a pattern such as `invoice.*`.' })
export const topicFilter = name.optional().meta({ description: 'Only this topic.' })
/** Of a thing that several tenants may have. */
export const ownTenant = name
  .optional()
  .meta({ description: 'Its tenant. Default: that of the token, else `default`.' })

export const tenantField = {
  tenant: name.optional().meta({ description: 'Only this tenant. A token may be bound to one.' }),
}

/** One page of a list. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    data: z.array(item).readonly(),
    next: z.string().nullable().meta({ description: 'The cursor of the next page; null: there is none.' }),
    previous: z
      .string()
      .nullable()
      .meta({ description: 'The cursor of the page before; null: there is none.' }),
  })
}

/** Counts of PostgreSQL arrive as numbers, and are below 2^53. */
export const count = z.number()
