import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import { HookonceError } from '../model/errors.ts'
import type { ApiWait } from './api.ts'

/** The progress of a run. */
export interface ReconcileProgress {
  readonly listed: number
  readonly missing: number
  readonly recorded: number
  /** The share of the window that was read, from 0 to 1. Undefined: unknown. */
  readonly share?: number
  /** Set while the run waits for the API. */
  readonly wait?: ApiWait
}

/** The limit on missing events, because each is kept in memory for the report. */
const MAX_MISSING = 10_000

const commonFields = {
  /** A key of the provider's API that may read events. It is not the signing secret. */
  apiKey: z.string({ error: 'pass the key of the API: it is not the signing secret' }).min(1),
  since: z.date({ error: 'pass a Date: where the window begins' }),
  until: z.date().optional(),
  /** Types or patterns. Undefined: every type that has a subscriber. */
  types: z.array(z.string().min(1)).min(1).optional(),
  /** 'report' changes nothing. */
  mode: z.enum(['record', 'report']).optional(),
  /** The run stops after this many missing events. */
  limit: z.int().positive().max(MAX_MISSING).default(MAX_MISSING),
  /** Another address of the API: GitHub Enterprise Server, or a test. */
  apiUrl: z.string().refine(isSafeUrl, 'must be an https:// URL; http:// only on this machine').optional(),
  /** The actor and the reason. The audit records both if anything was recorded. */
  by: z.string().min(1).default('hooks.reconcile'),
  why: z.string().min(1).default('events that never arrived'),
  /** Stops the run. The report contains the work done so far. */
  signal: z.instanceof(AbortSignal).optional(),
  onProgress: z
    .custom<(progress: ReconcileProgress) => void>(
      (value) => typeof value === 'function',
      'must be a function',
    )
    .optional(),
}

const schemas = {
  stripe: strict({
    ...commonFields,
    /** The id of the webhook endpoint. Only the types that the endpoint enables can be missing. */
    endpoint: z
      .string()
      .regex(/^we_\w+$/, 'must be the id of a webhook endpoint, which begins with we_')
      .optional(),
    /** A connected account, whose events are listed instead. */
    account: z
      .string()
      .regex(/^acct_\w+$/, 'must be the id of an account, which begins with acct_')
      .optional(),
  }),
  github: strict({
    ...commonFields,
    hook: z.string({ error: 'pass the hook as owner/repo/ID, org/ID, or app' }).min(1),
  }),
  shopify: strict({
    ...commonFields,
    shop: z
      .string({ error: 'pass the shop as name.myshopify.com' })
      .regex(/^[a-z0-9][a-z0-9.-]*$/i, 'must be a host such as name.myshopify.com'),
    /** Shopify answers in its oldest supported version if this one is older. */
    apiVersion: z
      .string()
      .regex(/^\d{4}-\d{2}$/, 'must be a version such as 2025-10')
      .default('2025-10'),
  }),
}

type ReconcileProvider = keyof typeof schemas

export type StripeListOptions = z.output<typeof schemas.stripe>
export type GitHubListOptions = z.output<typeof schemas.github>
export type ShopifyListOptions = z.output<typeof schemas.shopify>

/** Options of `hooks.reconcile`. An option of another provider is an error. */
export type ReconcileOptions =
  | z.input<typeof schemas.stripe>
  | z.input<typeof schemas.github>
  | z.input<typeof schemas.shopify>

const reconcileProviders = Object.keys(schemas)

export type CheckedOptions = {
  [Name in ReconcileProvider]: { readonly provider: Name; readonly options: z.output<(typeof schemas)[Name]> }
}[ReconcileProvider]

export function checkReconcileOptions(provider: string, source: string, given: unknown): CheckedOptions {
  const where = `reconcile of "${source}"`
  if (provider === 'stripe') return { provider, options: check(schemas.stripe, given, where) }
  if (provider === 'github') return { provider, options: check(schemas.github, given, where) }
  if (provider === 'shopify') return { provider, options: check(schemas.shopify, given, where) }
  throw new HookonceError(
    'CONFIG_INVALID',
    `source "${source}" is of provider "${provider}", whose events cannot be listed: reconcile reads ${reconcileProviders.join(', ')}`,
  )
}

/** The API key must not cross a network in clear text. */
function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  const isLocal = hostname === 'localhost' || hostname === '[::1]' || /^127\.[\d.]+$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && isLocal)
}
