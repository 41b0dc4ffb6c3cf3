import { provider } from '../provider.ts'

export const github = provider<GitHubEvent, GitHubEvent, GitHubEventType>({
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

/** Well-known types, for completion. Any other type is allowed. */
export type GitHubEventType =
  | 'check_run.completed'
  | 'check_run.created'
  | 'check_suite.completed'
  | 'create'
  | 'delete'
  | 'deployment.created'
  | 'deployment_status.created'
  | 'fork'
  | 'installation.created'
  | 'installation.deleted'
  | 'installation_repositories.added'
  | 'installation_repositories.removed'
  | 'issue_comment.created'
  | 'issue_comment.deleted'
  | 'issue_comment.edited'
  | 'issues.assigned'
  | 'issues.closed'
  | 'issues.edited'
  | 'issues.labeled'
  | 'issues.opened'
  | 'issues.reopened'
  | 'member.added'
  | 'ping'
  | 'pull_request.closed'
  | 'pull_request.edited'
  | 'pull_request.labeled'
  | 'pull_request.opened'
  | 'pull_request.ready_for_review'
  | 'pull_request.reopened'
  | 'pull_request.review_requested'
  | 'pull_request.synchronize'
  | 'pull_request_review.submitted'
  | 'pull_request_review_comment.created'
  | 'push'
  | 'release.created'
  | 'release.published'
  | 'repository.created'
  | 'star.created'
  | 'workflow_job.completed'
  | 'workflow_job.queued'
  | 'workflow_run.completed'
  | 'workflow_run.requested'
  | (string & {})
