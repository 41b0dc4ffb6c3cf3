import { hookonce } from 'hookonce'
import { stripe } from 'hookonce/sources'

/** An app that a real process of the kit loads. */
export default function makeHooks(database, { downstream }) {
  const hooks = hookonce({ database, sources: { stripe: stripe({ secret: 'whsec_test' }) } })
  hooks.on('stripe', 'invoice.paid', async (event, ctx) => {
    await ctx.transaction((tx) => tx.query('insert into payments (invoice) values ($1)', [event.objectId]))
    await ctx.fetch(`${downstream.url}/mails`, {
      method: 'POST',
      effect: `mail:${event.objectId}`,
      body: 'x',
    })
    ctx.write({ text: 'insert into pids (pid) values ($1)', values: [process.pid] })
  })
  return hooks
}
