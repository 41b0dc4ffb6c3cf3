import { createApp } from './app.ts'
import { type GitHubApi, githubApi } from './github-api.ts'
import { CREATE_TABLES } from './tables.ts'

const { DATABASE_URL, GITHUB_WEBHOOK_SECRET, GITHUB_TOKEN } = process.env
if (!GITHUB_WEBHOOK_SECRET) throw new Error('set GITHUB_WEBHOOK_SECRET; for a try, any text will do')

/** For a try without a token. */
const printed: GitHubApi = {
  comment: async ({ repository, number }, body) => console.log(`comment on ${repository}#${number}: ${body}`),
  hasComment: async () => false,
}

const { hooks, app } = await createApp({
  database: DATABASE_URL,
  githubSecret: GITHUB_WEBHOOK_SECRET,
  api: GITHUB_TOKEN ? githubApi({ token: GITHUB_TOKEN }) : printed,
})
const { business } = await hooks.ledger()
await business.query(CREATE_TABLES)
await hooks.start()
const port = Number(process.env.PORT ?? 3000)
await app.listen({ port })
console.log(`POST http://127.0.0.1:${port}/webhooks/github`)

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    await app.close()
    await hooks.stop() // lets running handlers finish
    process.exit()
  })
