import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import type { ChannelTest, ListedAlert } from '../../../src/operate/alerts.ts'
import type { Stats } from '../../../src/operate/stats.ts'
import { httpReceiver, mailServer } from '../../support/alert-receivers.ts'
import { bucket, evaluate, register } from '../../support/alerts.ts'
import { cli, startCli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { configFile, configTo, deliver, ENV, FORWARD_SECRET, serveArgs } from '../../support/gateway.ts'
import { listening } from '../../support/listening-server.ts'
import { until } from '../../support/until.ts'

test('the gateway reports a destination that is down, and stats and alerts show it', async () => {
  const db = await freshDatabase()
  const app = createServer((request, response) => {
    request.resume()
    response.writeHead(500).end()
  })
  const hook = await httpReceiver()
  const config = {
    ...configTo(await listening(app)),
    alerts: {
      name: 'production',
      channels: { ops: { type: 'slack', url: 'env:SLACK_URL' } },
      rules: { retries: { count: 1, share: 0.1 } },
      everySeconds: 1,
    },
  }
  const env = { ...ENV, SLACK_URL: hook.url, DATABASE_URL: db.url }
  const gateway = startCli(serveArgs(configFile(config)), env)
  const { port } = await gateway.line<{ port: number }>('port')
  expect(await deliver(port, 'evt_1')).toBe(202)
  expect(await deliver(port, 'evt_1')).toBe(200)
  expect(JSON.parse((await hook.request(1)).body).text).toContain('[production] open: retries, stripe → app')

  const [alert] = (await cli(['alerts', '--json'], env)).json<ListedAlert[]>()
  expect(alert).toMatchObject({ rule: 'retries', source: 'stripe', subscriber: 'app', resolvedAt: null })
  expect((await cli(['alerts'], env)).stdout).toMatch(
    new RegExp(`^${alert?.id.slice(0, 8)} +open +.* retries +stripe → app .*--state retrying$`, 'm'),
  )
  // The repeat may be counted in a later flush than the retry, so this waits for it.
  const stats = await until('the repeat is counted', async () => {
    const read = (await cli(['stats', '--since', '1h', '--json'], env)).json<Stats>()
    return read.totals.duplicate > 0 ? read : undefined
  })
  expect(stats.totals).toMatchObject({ received: 1, duplicate: 1, harmlessRepeats: 1 })
  expect(stats.series).toHaveLength(60)
  expect((await cli(['stats', '--source', 'stripe'], env)).stdout).toMatch(/^stripe +1 +1 +0 +0 +0 +≤ /m)
  expect(await gateway.stop()).toBe(0)
  expect(gateway.output.stderr).not.toContain('the-secret-of-the-hook')
})

test('alerts acknowledge records who handles it', async () => {
  const db = await freshDatabase()
  const env = { DATABASE_URL: db.url }
  expect((await cli(['alerts'], env)).stdout).toBe('no open alerts\n')
  await register(db)
  await bucket(db, '1 minute', { subscriber: 'app', failed: 3 })
  await evaluate(db)
  const [alert] = (await cli(['alerts', '--json'], env)).json<ListedAlert[]>()
  const id = alert?.id.slice(0, 8) ?? ''
  const unexplained = await cli(['alerts', 'acknowledge', id], env)
  expect(unexplained).toMatchObject({ code: 1, stdout: '' })
  expect(unexplained.stderr).toContain('give the reason with --why')
  const done = await cli(['alerts', 'acknowledge', id, '--why', 'on it', '--by', 'ada', '--mute', '2h'], env)
  expect(done.stdout).toMatch(/: failures of stripe → app acknowledged by cli:ada, muted until \d{4}-/)
  expect((await cli(['alerts'], env)).stdout).toContain('open (cli:ada)')
  expect((await cli(['audit'], env)).stdout).toMatch(/cli:ada +- +acknowledge-alert .* on it/)
  expect((await cli(['alerts', 'acknowledge', '0000', '--why', 'x'], env)).stderr).toContain(
    'ALERT_NOT_OPEN: no alert has an id that begins with "0000"',
  )
  expect((await cli(['alerts', 'close'], env)).stderr).toContain(
    'unexpected argument "close": give acknowledge or test',
  )
})

test('alerts test sends a message to every channel, and names the one that did not accept it', async () => {
  const hook = await httpReceiver()
  const broken = await httpReceiver(500)
  const server = await mailServer()
  const path = configFile({
    ...configTo('http://127.0.0.1:9/'),
    alerts: {
      channels: {
        ops: { type: 'slack', url: 'env:SLACK_URL' },
        pager: { type: 'webhook', url: broken.url, secret: 'env:FORWARD_SECRET' },
        mail: { type: 'smtp', server: 'env:SMTP_URL', from: 'a@example.com', to: ['b@example.com'] },
      },
    },
  })
  const env = { ...ENV, SLACK_URL: hook.url, SMTP_URL: server.url }
  const ran = await cli(['alerts', 'test', '--config', path, '--json'], env)
  expect(ran.code).toBe(1)
  expect(ran.json<ChannelTest[]>()).toMatchObject([
    { channel: 'ops', type: 'slack' },
    { channel: 'pager', type: 'webhook', error: expect.stringContaining('answered 500: not now') },
    { channel: 'mail', type: 'smtp' },
  ])
  expect(ran.stdout).not.toContain('pass')
  expect(ran.stdout).not.toContain(FORWARD_SECRET)
  expect(JSON.parse(hook.requests[0]?.body ?? '').text).toContain('[hookonce] test of an alert channel')
  expect(server.mails[0]?.text).toContain('Subject: [hookonce] test of an alert channel')
  const again = await cli(['alerts', 'test', '--config', path], env)
  expect(again).toMatchObject({ code: 0 })
  expect(again.stdout).toMatch(/^ops +slack +sent$/m)
})

test('bad configurations of alerts are refused before anything starts', async () => {
  const say = async (alerts: unknown, env: Record<string, string> = ENV): Promise<string> => {
    const path = configFile({ ...configTo('http://127.0.0.1:9/'), alerts })
    return (await cli(['serve', '--config', path], env)).stderr
  }
  expect(await say({ channels: { ops: { type: 'slack', url: 'https://hooks.slack.com/T/B/x' } } })).toContain(
    'alerts.channels.ops.url: pass the secret as "env:NAME" or "file:/path"',
  )
  expect(await say({ channels: { ops: { type: 'slack', url: 'env:NOT_SET' } } })).toContain(
    'alerts.channels.ops.url: the environment variable NOT_SET is empty or not set: a channel of the alerts needs it',
  )
  expect(await say({ rule: {} })).toContain(
    'alerts: unknown "rule" (did you mean "rules"?); allowed: name, channels, rules',
  )
  expect(await say({ sources: { stirpe: { lag: 'off' } } })).toContain('no source is named "stirpe"')
  const none = await cli(['alerts', 'test', '--config', configFile(configTo('http://127.0.0.1:9/'))], ENV)
  expect(none.stderr).toContain('has no alert channels: add "alerts"')
})
