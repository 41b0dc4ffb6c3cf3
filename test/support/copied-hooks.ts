import { hookonce } from 'hookonce'
import { github, stripe } from 'hookonce/sources'

/*
 * The hooks of a project. The scenario runs them like production, and the copied tests import them.
 * With COPIED_HOOKS_CHANGED the handlers behave differently, which the copied tests must detect.
 */
const isChanged = process.env.COPIED_HOOKS_CHANGED === 'yes'

export const SECRET = 'whsec_of_the_copied_events'

export function hooks(database: string) {
  const made = hookonce({
    database,
    pollMs: 20,
    logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
    retry: { maxAttempts: 2, baseDelayMs: 1, maxDelayMs: 1 },
    sources: { stripe: stripe({ secret: SECRET }), github: github({ secret: SECRET }) },
  })
  made.on(
    'stripe',
    'invoice.*',
    async (event, ctx) => {
      const text = Buffer.from(event.body).toString('utf8')
      const [, account = 'none'] = /"account": (\d+)/.exec(text) ?? []
      const { name } = event.object as { readonly name?: string }
      await ctx.effect(`mail:${account}:${name}`, async () => 'sent')
    },
    { name: "the customer's mail" },
  )
  made.on('stripe', 'invoice.*', () => {
    if (!isChanged) throw new Error("no such customer:\n'*/ process.exit(7) //")
  })
  made.on('github', 'push', async (event, ctx) => {
    const hook = isChanged ? 'another' : event.headers['x-github-hook-id']
    await ctx.effect(`build:${event.key}:${hook}`, async () => null)
  })
  return made
}
