import { Hono } from 'hono'
import { hookonce } from 'hookonce'
import type { Publish } from 'hookonce/publishers'
import { standardWebhooks } from 'hookonce/sources'

export interface Settings {
  /** Undefined: a PostgreSQL of its own, under .hookonce/. */
  readonly database: string | undefined
  readonly identitySecret: string
  /** Hands a message over to the CRM. */
  readonly crm: Publish
}

interface User {
  readonly id: string
  readonly email: string
}

export function createApp({ database, identitySecret, crm }: Settings) {
  const hooks = hookonce({
    database,
    sources: { identity: standardWebhooks({ secret: identitySecret }) },
    outbox: { publishers: { 'member.*': crm } },
  })

  // The row and the message are committed together, with the completion of the event.
  hooks.on('identity', 'user.created', (event, ctx) => {
    const { id, email } = event.object as User
    ctx.write({ text: 'insert into members (id, email) values ($1, $2)', values: [id, email] })
    ctx.publish('member.joined', { id, email }, { key: id })
  })

  hooks.on('identity', 'user.deleted', (event, ctx) => {
    const { id } = event.object as User
    // No row yet: "created" is late, or being retried. This fails, and runs again later.
    ctx.write({ text: 'delete from members where id = $1', values: [id], rows: 1 })
    ctx.publish('member.left', { id }, { key: id })
  })

  const app = new Hono()
  app.all('/webhooks/:source', hooks.hono())
  app.get('/members', async (c) => {
    const { business } = await hooks.ledger()
    const { rows } = await business.query('select * from members order by id')
    return c.json(rows)
  })
  return { hooks, app }
}
