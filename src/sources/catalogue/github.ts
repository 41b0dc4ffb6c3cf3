import type { ProviderDescription } from '../description.ts'
import { githubEventTypes } from '../event-types/github.ts'
import type { SourceOptions } from '../options.ts'
import { typedProvider } from '../provider.ts'
import type { SigningSource } from '../sign.ts'
import type { ListedType } from '../typed-events.ts'

export const github: GitHubProvider = typedProvider({
  provider: 'github',
  about: {
    name: 'GitHub',
    category: 'source-control',
    confidence: 'verified',
    evidence: [
      'npm:@octokit/webhooks-methods@6.0.0:dist-node/index.js',
      'github.com/github/docs:content/webhooks',
    ],
    unverified: ['redelivery for 3 days'],
    notes: [
      '`X-GitHub-Delivery` stays the same when the delivery is sent again; every hook gets its own.',
      'The signature covers the body only: delivery id and event name are headers, which TLS protects but the secret does not.',
      'The legacy SHA-1 header is sent beside the SHA-256 one and ignored.',
      'The type is `pull_request.opened` if the payload has an action, and `push` if it has none.',
      'There is no date in the envelope, so `occurredAt` stays empty.',
      'Both content types are accepted: `application/json`, or a form with the JSON in `payload`. The signature covers the form as sent.',
      'There is no automatic retry. A person or the API can redeliver for 3 days on github.com, and for longer on your own server; hookonce assumes a week.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-hub-signature-256',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha256=' },
  },
  apiKeys: {
    prefixes: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'],
    advice: 'use the secret of the webhook, as set in its settings',
  },
  body: { jsonOr: { form: 'payload' } },
  event: {
    key: 'header:x-github-delivery',
    type: { join: ['header:x-github-event', 'json:action'], separator: '.' },
    // The most specific object first: a comment is sent with its issue, a review with its pull
    // request.
    objectId: [
      'json:comment.id',
      'json:review.id',
      'json:pull_request.id',
      'json:issue.id',
      'json:release.id',
      'json:check_run.id',
      'json:workflow_job.id',
      'json:workflow_run.id',
      'json:after',
      'json:repository.id',
    ],
    version: {
      at: [
        'json:comment.updated_at',
        'json:review.submitted_at',
        'json:pull_request.updated_at',
        'json:issue.updated_at',
        'json:workflow_run.updated_at',
      ],
      unit: 'iso',
    },
    types: githubEventTypes,
  },
  retryWindowHours: 7 * 24,
})

/** The common fields of GitHub's payloads. There is no envelope: the payload is the object. */
export interface GitHubEvent {
  readonly action?: string
  readonly repository?: GitHubNamed & { readonly full_name: string }
  readonly organization?: GitHubNamed & { readonly login: string }
  readonly sender?: GitHubNamed & { readonly login: string }
  readonly installation?: { readonly id: number }
  readonly [field: string]: unknown
}

interface GitHubNamed {
  readonly id: number
  readonly [field: string]: unknown
}

/** The types of this version's list, for completion. Any other type is allowed. */
export type GitHubEventType = ListedType<typeof githubEventTypes> | (string & {})

/**
 * With a type that maps the names of events to their payloads, such as Octokit's, each event has the
 * payload of its type, and an unknown type does not compile: `github<EventPayloadMap>({ secret })`.
 */
export interface GitHubProvider {
  (options: SourceOptions): GitHubSource
  <Payloads extends object>(
    options: SourceOptions,
  ): SigningSource<AnyOf<Payloads>, AnyOf<Payloads>, GitHubTypes<Payloads>, GitHubShapes<Payloads>>
  // Repeated, because `ReturnType<typeof github>` uses the last signature.
  (options: SourceOptions): GitHubSource
  readonly description: ProviderDescription
}

type GitHubSource = SigningSource<GitHubEvent, GitHubEvent, GitHubEventType>

type AnyOf<Payloads> = Payloads[keyof Payloads]

type GitHubShapes<Payloads> = {
  readonly [Type in GitHubTypes<Payloads>]: {
    readonly payload: GitHubPayload<Payloads, Type>
    readonly object: GitHubPayload<Payloads, Type>
  }
}

/** `pull_request` with its actions makes `pull_request.opened` and so on; `push` has none. */
type GitHubTypes<Payloads> = {
  [Name in keyof Payloads & string]: WithAction<Name, Payloads[Name]>
}[keyof Payloads & string]

type WithAction<Name extends string, Payload> = Name extends `${string}.${string}`
  ? Name
  : Payload extends { readonly action: infer Action extends string }
    ? `${Name}.${Action}`
    : Name

type GitHubPayload<Payloads, Type extends string> = Type extends keyof Payloads
  ? Payloads[Type]
  : Type extends `${infer Name}.${infer Action}`
    ? Name extends keyof Payloads
      ? OfAction<Payloads[Name], Action>
      : never
    : never

type OfAction<Payload, Action extends string> = Payload extends { readonly action: infer Actions }
  ? Action extends Actions
    ? Actions extends Action
      ? Payload
      : Payload & { readonly action: Action }
    : never
  : never
