import { z } from 'zod'
import { alertsFileSchema } from '../../alerts/config.ts'
import { destinationSchema } from '../../forward/destination.ts'
import { strict } from '../../input/checked.ts'
import { didYouMean } from '../../input/closest.ts'
import { ledgersFileSchema } from '../../input/ledgers-options.ts'
import { openTelemetrySchema } from '../../observe/opentelemetry/index.ts'
import { addressRange, limitsSchema, retentionSchema, sourceKey, sourceLimitFields } from '../../options.ts'
import { providerIds } from '../../sources/catalogue/index.ts'
import { filterSchema } from './filter.ts'

/*
 * The shape of a configuration file. Its JSON Schema is generated from it, so that editors can
 * complete and check the file. Descriptions are for editors.
 */

const PROVIDERS = ['custom', ...providerIds]

/** Checks only the options that the gateway itself reads. The provider checks the other options. */
const sourceSchema = z.looseObject({
  provider: z
    .enum(PROVIDERS, {
      error: ({ input }) =>
        `no provider is named "${String(input)}"${didYouMean(String(input), PROVIDERS)}: \`hookonce sources\` lists them`,
    })
    .describe('How the sender signs and names its events: `hookonce sources` lists the providers.'),
  // Some providers have no secret. The other providers report a missing secret.
  secret: z
    .union([z.string(), z.array(z.string())], {
      error: 'expected "env:NAME" or "file:/path", or an array of those',
    })
    .optional()
    .describe('`env:NAME` or `file:/path`. Several while a secret is rotated.'),
  tenant: z.string().min(1).max(255).optional().describe('The tenant of its events.'),
  unwanted: z
    .enum(['ignore', 'record'])
    .optional()
    .describe('Whether events that no destination gets are recorded.'),
  ...sourceLimitFields,
})

const routeSchema = strict({
  from: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)], {
      error: 'expected the name of a source, a pattern such as "*", or an array of those',
    })
    .describe('Sources: names, or patterns such as `acme/*`.'),
  types: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
    .default('*')
    .describe('Event types: names, or patterns such as `invoice.*`.'),
  where: filterSchema.optional().describe('Only events that pass this filter.'),
  to: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)], {
      error: 'expected the name of a destination, or an array of names',
    })
    .describe('Destinations.'),
})

const port = z.int().min(0).max(65_535)

/** The admin listener. Options of the command line take precedence. */
const adminSchema = strict({
  host: z.string().min(1).optional(),
  port: port.optional(),
  path: z
    .string()
    .regex(/^\/[\w/.-]*$/, 'expected a path that begins with "/", such as "/hookonce"')
    .optional()
    .describe('The path under which a proxy serves the admin listener.'),
  token: z.string({ error: 'pass the token as "env:NAME" or "file:/path"' }).optional(),
  auditBodies: z
    .enum(['on', 'off'])
    .optional()
    .describe(
      'Whether each look at a body, headers or the result of an effect through the admin API is in the audit.',
    ),
})

/**
 * Encrypts bodies and headers in the ledger. During a rotation there are several keys: the first
 * wraps new data keys.
 */
const encryptionSchema = strict({
  key: z.union([z.string(), z.array(z.string()).min(1)], {
    error: 'expected "env:NAME" or "file:/path", or an array of those',
  }),
})

const gatewayLimitsSchema = strict({
  ...limitsSchema.shape,
  /**
   * Each connection takes a file descriptor and some 20 kB. Providers keep few connections open.
   */
  maxConnections: z.int().positive().default(10_000),
  trustedProxies: z.array(addressRange).max(1_000).default([]),
})

export const configSchema = strict({
  sources: z.record(
    sourceKey,
    sourceSchema,
    whenMissing('add at least one source: { "stripe": { "provider": "stripe", "secret": "env:NAME" } }'),
  ),
  destinations: z.record(
    z.string().min(1).max(200),
    destinationSchema,
    whenMissing('add at least one destination: { "app": { "url": "http://…", "secret": "env:NAME" } }'),
  ),
  routes: z.array(routeSchema).max(1_000).default([]),
  host: z.string().min(1).optional().describe('The address of the delivery listener.'),
  port: port.optional().describe('The port of the delivery listener.'),
  admin: adminSchema.optional(),
  database: z.string().optional().describe('`env:NAME` or `file:/path` of a postgres:// URL, or `embedded`.'),
  ledgers: ledgersFileSchema
    .optional()
    .describe('Several ledgers: a number, or an object. A tenant lives in one of them.'),
  limits: gatewayLimitsSchema.prefault({}),
  retention: retentionSchema.prefault({}),
  alerts: z
    .union([z.literal('off'), alertsFileSchema])
    .prefault({})
    .describe('Rules, and the channels that get messages. Without it, the rules have their defaults.'),
  encryption: encryptionSchema.optional().describe('Encrypts bodies and headers in the ledger.'),
  openTelemetry: z
    .union([z.literal('off'), openTelemetrySchema])
    .prefault({})
    .describe('Traces and metrics for an SDK of OpenTelemetry, if this process has one.'),
  $schema: z.string().optional().describe('The JSON Schema of this file, for editors.'),
})

function whenMissing(message: string) {
  return {
    error: ({ input }: { readonly input?: unknown }) => (input === undefined ? message : undefined),
  }
}

/** A configuration as it is written. */
export type ConfigInput = z.input<typeof configSchema>
export type CheckedConfig = z.output<typeof configSchema>
export type CheckedRoute = z.output<typeof routeSchema>
export type ConfiguredAdmin = Readonly<z.output<typeof adminSchema>>
export type ConfiguredLimits = Readonly<z.output<typeof gatewayLimitsSchema>>
