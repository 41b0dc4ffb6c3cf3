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

/** Checks only what the gateway itself reads. The provider checks the other options. */
export const sourceSchema = z.looseObject({
  provider: z
    .enum(PROVIDERS, {
      error: ({ input }) =>
        `no provider is named "${String(input)}"${didYouMean(String(input), PROVIDERS)}: \`hookonce sources\` lists them`,
    })
    .describe('how the sender signs and names its events: the id of a [provider](providers.md), or `custom`'),
  // Some providers have no secret. The others report a missing one.
  secret: z
    .union([z.string(), z.array(z.string())], {
      error: 'expected "env:NAME" or "file:/path", or an array of those',
    })
    .optional()
    .describe('`env:NAME` or `file:/path`; an array while a secret is rotated'),
  tenant: z.string().min(1).max(255).optional().meta({
    description: 'the tenant of its events, if the name of the source does not say it',
    defaultsTo: '`default`',
  }),
  unwanted: z.enum(['ignore', 'record']).optional().meta({
    description: 'whether an event that no destination gets is recorded',
    defaultsTo: '`ignore`',
  }),
  ...sourceLimitFields,
})

export const routeSchema = strict({
  from: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)], {
      error: 'expected the name of a source, a pattern such as "*", or an array of those',
    })
    .describe('a source, a pattern with `*` (`acme/*`, `*/github`), or a list of those'),
  types: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
    .default('*')
    .describe('an event type, a pattern with `*` (`invoice.*`), or a list of those'),
  where: filterSchema.optional().meta({ description: 'a [filter](#filters)', defaultsTo: 'everything' }),
  to: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)], {
      error: 'expected the name of a destination, or an array of names',
    })
    .describe('a destination, or a list of destinations'),
})

const port = z.int().min(0).max(65_535)

/** The admin listener. Options of the command line take precedence. */
const adminSchema = strict({
  host: z.string().min(1).optional().meta({
    description: 'the address of the [admin listener](cli.md#endpoints)',
    defaultsTo: '`127.0.0.1`',
  }),
  port: port.optional().meta({ description: 'the port of the admin listener', defaultsTo: '4401' }),
  path: z
    .string()
    .regex(/^\/[\w/.-]*$/, 'expected a path that begins with "/", such as "/hookonce"')
    .optional()
    .describe(
      'the path under which a proxy serves the admin listener, such as `/hookonce`. The listener then answers `/hookonce/metrics`; health checks also work without the path',
    ),
  token: z.string({ error: 'pass the token as "env:NAME" or "file:/path"' }).optional().meta({
    description: '`env:NAME` or `file:/path` of the admin token',
    defaultsTo: '`HOOKONCE_ADMIN_TOKEN`',
  }),
  auditBodies: z.enum(['on', 'off']).optional().meta({
    description:
      'whether the audit records each [view of a body, headers or the result of an effect](api.md#tokens-and-roles) through the admin API',
    defaultsTo: '`on`',
  }),
})

/** Several keys during a rotation: the first is used. */
const encryptionSchema = strict({
  key: z.union([z.string(), z.array(z.string()).min(1)], {
    error: 'expected "env:NAME" or "file:/path", or an array of those',
  }),
})

const gatewayLimitsSchema = strict({
  /** Each takes a file descriptor and some 20 kB. Providers keep few connections open. */
  maxConnections: z
    .int()
    .positive()
    .default(10_000)
    .describe('connections of the delivery listener, per process. hookonce closes any further connection'),
  ...limitsSchema.shape,
  trustedProxies: z
    .array(addressRange)
    .max(1_000)
    .default([])
    .describe(
      "the addresses of your own proxies. hookonce reads the sender's address from their `x-forwarded-for`",
    ),
})

export const configSchema = strict({
  sources: z
    .record(
      sourceKey,
      sourceSchema,
      whenMissing('add at least one source: { "stripe": { "provider": "stripe", "secret": "env:NAME" } }'),
    )
    .describe('the [sources](#sources), by name'),
  destinations: z
    .record(
      z.string().min(1).max(200),
      destinationSchema,
      whenMissing('add at least one destination: { "app": { "url": "http://…", "secret": "env:NAME" } }'),
    )
    .describe(
      'the apps that get events, by name: see the [options of a destination](forwarding.md#options-of-a-destination)',
    ),
  routes: z
    .array(routeSchema)
    .max(1_000)
    .default([])
    .describe('which events go to which destination: see [routes](#routes)'),
  host: z.string().min(1).optional().meta({
    description: 'the address of the delivery listener. `dev` always listens on `127.0.0.1`',
    defaultsTo: '`0.0.0.0`',
  }),
  port: port.optional().meta({ description: 'the port of the delivery listener', defaultsTo: '4400' }),
  admin: adminSchema.optional(),
  database: z.string().optional().meta({
    description: '`env:NAME` or `file:/path` of a `postgres://` URL, or `embedded`',
    defaultsTo: '`DATABASE_URL`',
  }),
  ledgers: ledgersFileSchema.optional().meta({
    description:
      'several [ledgers](../scaling.md#6-many-ledgers): a number, or `count`, `also`, `placement` (by ledger: `env:NAME` or `file:/path` of a `postgres://` URL) and `tenants`. `--ledgers N` overrides it',
    defaultsTo: 'one ledger',
  }),
  limits: gatewayLimitsSchema.prefault({}),
  retention: retentionSchema.prefault({}),
  alerts: z
    .union([z.literal('off'), alertsFileSchema])
    .prefault({})
    .meta({
      description:
        'rules, and the channels that get messages: see [alerts](alerts.md). `"off"` turns them off',
      defaultsTo: 'the default rules, no channels',
    }),
  encryption: encryptionSchema
    .optional()
    .describe(
      '`key`: encrypts bodies and headers in the ledger, see [privacy](../privacy.md). The default of `key` is `HOOKONCE_ENCRYPTION_KEY`',
    ),
  openTelemetry: z
    .union([z.literal('off'), openTelemetrySchema])
    .prefault({})
    .meta({
      description: '`names` and `sender`, or `"off"`: see [traces](tracing.md)',
      defaultsTo: 'on, if the process has an SDK',
    }),
  $schema: z.string().optional().meta({
    description: 'for editors; hookonce does not read it',
    defaultsTo: '',
  }),
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
