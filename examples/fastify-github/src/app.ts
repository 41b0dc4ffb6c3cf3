import type { EventPayloadMap } from '@octokit/webhooks-types'
import Fastify from 'fastify'
import { hookonce } from 'hookonce'
import { github } from 'hookonce/sources'
import type { GitHubApi } from './github-api.ts'

export interface Settings {
  /** Undefined: a PostgreSQL of its own, under .hookonce/. */
  readonly database: string | undefined
  readonly githubSecret: string
  readonly api: GitHubApi
}

export async function createApp({ database, githubSecret, api }: Settings) {
  const hooks = hookonce({ database, sources: { github: github<EventPayloadMap>({ secret: githubSecret }) } })

  const types = ['pull_request.opened', 'pull_request.closed', 'pull_request.reopened'] as const
  hooks.on('github', types, async (event, ctx) => {
    const { pull_request: pull, repository, sender } = event.payload

    // One row per pull request, with its newest state. A late delivery does not reopen it.
    await ctx.latest(`pull:${pull.id}`, event.version, (tx) =>
      tx.query(
        `insert into pull_requests (id, repository, number, state) values ($1, $2, $3, $4)
         on conflict (id) do update set state = excluded.state`,
        [pull.id, repository.full_name, pull.number, pull.merged_at ? 'merged' : pull.state],
      ),
    )
    if (event.type !== 'pull_request.opened') return

    // One welcome per pull request. GitHub's API honours no Idempotency-Key, so after a call with
    // an unknown outcome, `reconcile` looks for the comment before anything is sent again.
    const on = { repository: repository.full_name, number: pull.number }
    const mark = `<!-- welcome ${pull.id} -->`
    await ctx.effect(
      `welcome:${pull.id}`,
      ({ signal }) => api.comment(on, `Thank you, @${sender.login}! ${mark}`, signal),
      {
        mode: 'atMostOnce',
        reconcile: async ({ signal }) =>
          (await api.hasComment(on, mark, signal))
            ? { outcome: 'done', result: undefined }
            : { outcome: 'not done' },
      },
    )
  })

  const app = Fastify()
  await app.register(hooks.fastify(), { prefix: '/webhooks' })
  app.get('/pull-requests', async () => {
    const { business } = await hooks.ledger()
    const { rows } = await business.query('select * from pull_requests order by id')
    return rows
  })
  return { hooks, app }
}
