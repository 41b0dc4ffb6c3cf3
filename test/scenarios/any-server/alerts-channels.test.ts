import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { smtpChannel } from '../../../src/alerts/channels/smtp.ts'
import { testMessage } from '../../../src/alerts/message.ts'
import { httpReceiver, mailServer } from '../../support/alert-receivers.ts'
import { alertsOf, bucket, evaluate } from '../../support/alerts.ts'
import { type App, startApp } from '../../support/app.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { testHooks } from '../../support/hooks.ts'
import { commitMessages, newMessage } from '../../support/outbox.ts'
import { until } from '../../support/until.ts'

const SECRET = `whsec_${Buffer.from('the secret that signs what is sent').toString('base64')}`
const QUICK = { retry: { baseDelayMs: 1, maxDelayMs: 1 } }

const failing = (db: TestDatabase, subscriber = 'app'): Promise<void> =>
  bucket(db, '1 minute', { source: 'test', subscriber, processed: 10, failed: 2 })

const published = (db: TestDatabase): Promise<number> =>
  db.number(`select count(*) from hookonce.outbox where state = 'published'`)

test('a Slack hook that fails at first gets the alert, and its URL is in no error and no log', async () => {
  const db = await freshDatabase()
  const hook = await httpReceiver(500, 429)
  const lines: string[] = []
  const log = (fields: object, message: string) => void lines.push(JSON.stringify({ ...fields, message }))
  const hooks = testHooks(db, {
    ...QUICK,
    alerts: { name: 'production', channels: { ops: { type: 'slack', url: hook.url } }, everySeconds: 1 },
    logger: { info: log, warn: log, error: log },
  })
  hooks.on('test', '*', () => undefined, { name: '<!channel> & co' })
  await failing(db, '<!channel> & co')
  await hooks.start()
  const { headers, body } = await hook.request(3)
  await until('it is marked', () => published(db))

  expect(headers['content-type']).toBe('application/json')
  const { text } = JSON.parse(body)
  expect(text).toMatch(/^\*\[production\] open: failures, test → &lt;!channel&gt; &amp; co\*\n/)
  expect(text).toContain('2 of 12 finished jobs failed for good in the last 15 minutes')
  expect(text).toContain("next: hookonce failures --source test --subscriber '&lt;!channel&gt; &amp; co'")
  expect(hook.requests.map((request) => request.body)).toEqual([body, body, body])
  const stored = await db.rows(`select * from hookonce.outbox`)
  expect(JSON.stringify([stored, lines])).not.toContain('the-secret-of-the-hook')
  expect(lines.join('\n')).toContain('answered 500: not now')
  expect(lines.join('\n')).toContain('alert opened')
})

test('a webhook gets the alert signed, as any receiver of Standard Webhooks verifies it', async () => {
  const db = await freshDatabase()
  const receiver = await httpReceiver()
  const channels = { pager: { type: 'webhook', url: receiver.url, secret: SECRET } } as const
  const hooks = testHooks(db, { ...QUICK, alerts: { channels, everySeconds: 1 } })
  hooks.on('test', '*', () => undefined)
  await failing(db)
  await hooks.start()
  const { headers, body } = await receiver.request(1)

  expect(new Webhook(SECRET).verify(body, headers)).toMatchObject({
    type: 'alerts',
    name: 'hookonce',
    opened: [{ rule: 'failures', tenant: 'default', source: 'test', subscriber: 'app', times: 1 }],
    resolved: [],
  })
  expect(headers['hookonce-topic']).toBe('hookonce.alerts.pager')
  const [alert] = await db.rows<{ id: string }>('select id from hookonce.alert')
  expect(JSON.parse(body).opened[0].id).toBe(alert?.id)
})

test('mail goes through a server that wants a password', async () => {
  const db = await freshDatabase()
  const server = await mailServer()
  const to = ['a@example.com', 'b@example.com']
  const mail = { type: 'smtp', server: server.url, from: 'hookonce@example.com', to } as const
  const hooks = testHooks(db, { ...QUICK, alerts: { channels: { mail }, everySeconds: 1 } })
  hooks.on('test', '*', () => undefined)
  await failing(db)
  await hooks.start()
  const { text, ...envelope } = await server.mail(1)
  await until('it is marked', () => published(db))

  expect(envelope).toEqual({ user: 'alerts', from: 'hookonce@example.com', to })
  const [message] = await db.rows<{ id: string }>('select id from hookonce.outbox')
  expect(text).toContain(`Message-ID: <${message?.id}@hookonce>`)
  expect(text).toMatch(/^Subject: =\?UTF-8\?/m)
  expect(text).toContain('2 of 12 finished jobs failed for good')
  expect(JSON.stringify(await db.rows('select * from hookonce.outbox'))).not.toContain('pass')
})

test('a password is not sent to another machine without TLS', async () => {
  // This name does not belong to this machine, so it counts as another host.
  const server = await mailServer('127.0.0.2')
  const send = smtpChannel({ server: server.url, from: 'a@example.com', to: ['b@example.com'] })
  const call = { id: 'x', signal: AbortSignal.timeout(10_000) }
  await expect(send(testMessage('t', new Date()), call)).rejects.toThrow(
    /PUBLISH_FAILED: the mail server 127\.0\.0\.2:\d+ did not accept the alert: .*TLS/,
  )
  expect(server.logins()).toBe(0)
  expect(server.mails).toEqual([])
})

test('a wrong password is an error that does not quote it', async () => {
  const server = await mailServer()
  const wrong = server.url.replace('pass%20word', 'not-the-password')
  const send = smtpChannel({ server: wrong, from: 'a@example.com', to: ['b@example.com'] })
  const call = { id: 'x', signal: AbortSignal.timeout(10_000) }
  const error = await send(testMessage('t', new Date()), call).then(
    () => undefined,
    (thrown: unknown) => String(thrown),
  )
  expect(error).toContain('did not accept the alert')
  expect(error).not.toContain('not-the-password')
})

function alertingApp(db: TestDatabase, url: string): Promise<App> {
  const channels = { ops: { type: 'slack', url } } as const
  const alerts = { channels, everySeconds: 1 }
  return startApp(db, { options: { alerts, leaseMs: 1_000, pollMs: 50, ...QUICK } })
}

test('a process is killed after it opened an alert and before it is published: the alert arrives', async () => {
  const db = await freshDatabase()
  const hook = await httpReceiver(0)
  const first = await alertingApp(db, hook.url)
  await failing(db)
  await hook.request(1)
  expect(await alertsOf(db)).toMatchObject([{ rule: 'failures', state: 'open' }])
  expect(await published(db)).toBe(0)
  process.kill(first.pid, 'SIGKILL')

  await alertingApp(db, hook.url)
  const { body } = await hook.request(2)
  await until('it is marked', () => published(db))
  expect(body).toBe(hook.requests[0]?.body)
  expect(await db.number('select count(*) from hookonce.outbox')).toBe(1)
  expect(await alertsOf(db)).toMatchObject([{ state: 'open', times: 1 }])
})

test('two processes make one message about one alert', async () => {
  const db = await freshDatabase()
  const hook = await httpReceiver()
  await Promise.all([alertingApp(db, hook.url), alertingApp(db, hook.url)])
  await failing(db)
  await hook.request(1)
  const ranAt = () => db.number('select extract(epoch from ran_at) from hookonce.alert_run')
  for (let evaluations = 0; evaluations < 3; evaluations += 1) {
    const before = await ranAt()
    await until('the rules are evaluated again', async () => (await ranAt()) > before)
  }
  // The relay sends it at least once: on a busy machine, a slow reply repeats the request.
  expect(await db.number('select count(*) from hookonce.outbox')).toBe(1)
  expect(await alertsOf(db)).toHaveLength(1)
})

test('publishers of the user do not get alerts, whatever topics they take', async () => {
  const db = await freshDatabase()
  const taken: string[] = []
  const hooks = testHooks(db, { outbox: { publishers: { '*': ({ topic }) => void taken.push(topic) } } })
  hooks.on('test', '*', () => undefined)
  await failing(db)
  await evaluate(db)
  await hooks.start()
  await commitMessages(db, newMessage('a message of the user'))
  await until('the other message is published', () => published(db))
  expect(taken).toEqual(['t'])
  expect(await db.rows('select topic, state from hookonce.outbox order by topic')).toEqual([
    { topic: 'hookonce.alerts.ops', state: 'waiting' },
    { topic: 't', state: 'published' },
  ])
})
