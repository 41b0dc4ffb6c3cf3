import { z } from 'zod'
import { targetSecret, targetUrl } from '../http/target.ts'
import { check, strict } from '../input/checked.ts'

/*
 * The options of alerts: the rules, and the channels that get the messages. One function makes two
 * schemas: programs pass secrets, and configuration files refer to secrets.
 */

/** Counts per minute are kept for two hours. */
const windowMinutes = z.int().min(1).max(60).default(15)
const share = z.number().min(0).max(1)
const count = z.int().positive()

const ruleShapes = {
  failures: { count: count.default(1), share: share.default(0.01), windowMinutes },
  retries: { count: count.default(10), share: share.default(0.5), windowMinutes },
  lag: { seconds: z.number().positive().default(300) },
  duplicates: { count: count.default(50), factor: z.number().min(1).default(5), windowMinutes },
  signatures: { count: count.default(10), share: share.default(0.2), windowMinutes },
  attention: { count: count.default(1) },
  circuit: {},
  silence: { minutes: z.number().min(10).default(30), factor: z.number().min(1).default(1.5) },
}

export type RuleName = keyof typeof ruleShapes
export const ruleNames = Object.keys(ruleShapes) as [RuleName, ...RuleName[]]

/** `opensWhen` completes "The alert opens when …". */
function rule<Shape extends z.ZodRawShape>(shape: Shape, opensWhen: string) {
  return z
    .union([z.literal('off'), strict(shape)], { error: "must be 'off', or the limits of the rule" })
    .describe(opensWhen)
}

export const rules = {
  failures: rule(
    ruleShapes.failures,
    'jobs of a subscriber failed for good: at least `count`, and at least this `share` of the finished jobs, within `windowMinutes`',
  ),
  retries: rule(
    ruleShapes.retries,
    'attempts of a subscriber failed and will be retried: at least `count`, and at least this `share` of all attempts. This is the first sign of a destination that is down',
  ),
  lag: rule(
    ruleShapes.lag,
    'the oldest due job of a subscriber has waited this many `seconds`. Paused jobs do not count',
  ),
  duplicates: rule(
    ruleShapes.duplicates,
    'at least `count` duplicates of a source arrived, and their share of the deliveries is `factor` times its usual share. The usual share is that of the last week, and at least 1 %',
  ),
  signatures: rule(
    ruleShapes.signatures,
    'signatures of a source are wrong, too old or missing: at least `count`, and at least this `share` of the deliveries',
  ),
  attention: rule(ruleShapes.attention, 'at least `count` jobs of a subscriber wait for a person'),
  circuit: rule(ruleShapes.circuit, 'the circuit of a subscriber is open: most of its runs fail'),
  silence: rule(
    ruleShapes.silence,
    'no delivery of a source arrived for at least `minutes`, and for `factor` times the longest gap of the last week',
  ),
}

const rulesSchema = strict({
  failures: rules.failures.prefault({}),
  retries: rules.retries.prefault({}),
  lag: rules.lag.prefault({}),
  duplicates: rules.duplicates.prefault({}),
  signatures: rules.signatures.prefault({}),
  attention: rules.attention.prefault({}),
  circuit: rules.circuit.prefault({}),
  silence: rules.silence.prefault({}),
})

export type Rules = Readonly<z.output<typeof rulesSchema>>

const channelName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'a channel name is 1 to 64 letters, digits, "-" and "_"')

/** Nodemailer checks addresses itself; a line break would begin another header. */
const mailAddress = z
  .string()
  .max(320)
  .regex(/^[^\r\n]*@[^\r\n]*$/, 'must be a mail address')

const smtpServer = z
  .string()
  .refine(
    (text) => URL.canParse(text) && /^smtps?:$/.test(new URL(text).protocol) && new URL(text).hostname !== '',
    { error: 'must be smtp://user:password@host:587 or smtps://user:password@host:465' },
  )

interface SecretFields {
  readonly slackUrl: z.ZodType<string, string>
  readonly signingSecret: z.ZodType<string, string>
  readonly smtpServer: z.ZodType<string, string>
}

function schemaWith(secrets: SecretFields) {
  const forRules = {
    /** Only alerts of these rules; without it, all. */
    rules: z.array(z.enum(ruleNames)).min(1).readonly().optional(),
  }
  const channel = z.discriminatedUnion(
    'type',
    [
      strict({ type: z.literal('slack'), url: secrets.slackUrl, ...forRules }),
      strict({ type: z.literal('webhook'), url: targetUrl, secret: secrets.signingSecret, ...forRules }),
      strict({
        type: z.literal('smtp'),
        server: secrets.smtpServer,
        from: mailAddress,
        to: z.array(mailAddress).min(1).max(50).readonly(),
        ...forRules,
      }),
    ],
    { error: 'type must be "slack", "webhook" or "smtp"' },
  )
  return strict({
    name: z.string().min(1).max(100).default('hookonce').describe('the name of the deployment in messages'),
    channels: z
      .record(channelName, channel)
      .default({})
      .describe('the [channels](#channels) that get messages, by name'),
    rules: rulesSchema
      .prefault({})
      .meta({ description: 'the [rules](#rules) for all sources', defaultsTo: 'see above' }),
    sources: z
      .record(z.string(), strict(rules).partial())
      .default({})
      .describe('rules of one source, by its name. They replace those above'),
    everySeconds: z
      .number()
      .min(1)
      .max(3600)
      .default(30)
      .describe('how often the rules are evaluated, by one of all processes'),
    /** A short pause does not resolve an alert. */
    resolveAfterMinutes: z
      .number()
      .min(0)
      .max(1440)
      .default(5)
      .describe('how long the condition must be false before an alert is resolved'),
    reopenWithinMinutes: z
      .int()
      .min(0)
      .max(10_080)
      .default(60)
      .describe('a condition that returns within this time opens the same alert again'),
    repeatAfterMinutes: z
      .number()
      .min(0)
      .max(10_080)
      .default(60)
      .describe('an alert that opens and resolves repeatedly is announced at most this often'),
    maxMessagesPerHour: z
      .int()
      .positive()
      .max(1000)
      .default(30)
      .describe('per channel. Later alerts wait, and are sent together when the hour is over'),
  })
}

/** For programs. */
export const alertsSchema = schemaWith({ slackUrl: targetUrl, signingSecret: targetSecret, smtpServer })

const reference = (use: string) => z.string({ error: `pass ${use} as "env:NAME" or "file:/path"` })

/** For configuration files. */
export const alertsFileSchema = schemaWith({
  slackUrl: reference('the URL'),
  signingSecret: reference('the secret'),
  smtpServer: reference('the server'),
})

export type AlertOptions = z.input<typeof alertsSchema>
export type CheckedAlerts = Readonly<z.output<typeof alertsSchema>>
export type AlertChannel = CheckedAlerts['channels'][string]

/** The field of each type of channel that holds a secret. */
const SECRET_FIELD = { slack: 'url', webhook: 'secret', smtp: 'server' } as const

/** Replaces the references of a configuration file by the secrets. Errors do not quote them. */
export function resolvedAlerts(
  file: z.output<typeof alertsFileSchema>,
  where: string,
  resolve: (reference: string, path: readonly string[]) => string | undefined,
): CheckedAlerts | undefined {
  let isMissing = false
  const channels = Object.entries(file.channels).map(([name, channel]) => {
    const field = SECRET_FIELD[channel.type]
    const given = String(Reflect.get(channel, field))
    const secret = resolve(given, ['alerts', 'channels', name, field])
    isMissing ||= secret === undefined
    return [name, { ...channel, [field]: secret }]
  })
  if (isMissing) return undefined
  return check(alertsSchema, { ...file, channels: Object.fromEntries(channels) }, where)
}

/** The rules that hold for one source. */
export function rulesOf({ rules: all, sources }: CheckedAlerts, source: string): Rules {
  const own = Object.hasOwn(sources, source) ? sources[source] : undefined
  const given = Object.entries(own ?? {}).filter(([, value]) => value !== undefined)
  return { ...all, ...Object.fromEntries(given) }
}
