import { expect, onTestFinished, test } from 'vitest'
import { cli } from '../../support/cli.ts'
import { ownServer } from '../../support/own-server.ts'
import { receiving } from '../../support/receiver.ts'
import { databaseUrl, makeCluster, TEMPLATE } from '../../support/servers.ts'
import { until } from '../../support/until.ts'

/* What docs/scaling.md says about replicas. */

/** Servers are stopped here, but no machine: written data survives without a sync. */
const SPARE = ['fsync=off']

test('commands that read give the same results on a standby, also while the primary is down', async () => {
  const server = await ownServer(SPARE)
  const { db } = server
  const { send, hooks } = receiving(db, {
    handler(event, ctx) {
      if (event.type === 'broken') throw new Error('the card was declined')
      ctx.publish('done', event.key)
    },
    options: { outbox: { publishers: { '*': () => undefined } }, retry: { maxAttempts: 1 } },
  })
  await hooks.start()
  for (const [id, type] of [
    ['evt_1', 'good'],
    ['evt_2', 'broken'],
  ] as const)
    await send({ id, type })
  const open = `select count(*) from hookonce.job where state not in ('processed', 'failed')`
  await until('both ran', async () => (await db.number(open)) === 0)
  await until('it is published', () =>
    db.number(`select count(*) from hookonce.outbox where state = 'published'`),
  )
  await hooks.stop()

  const standby = await makeCluster({ primaryUrl: db.url, settings: SPARE })
  standby.start()
  onTestFinished(() => {
    standby.stop()
    standby.remove()
  })
  const [receipt] = await db.rows<{ id: string }>('select id from hookonce.receipt where event_key = $1', [
    'evt_1',
  ])
  const commands = [
    ['events'],
    ['show', receipt?.id ?? ''],
    ['failures'],
    ['outbox'],
    ['attention'],
    ['rejections'],
    ['subscribers'],
    ['audit'],
  ]
  const results = async (url: string): Promise<unknown> =>
    Promise.all(
      commands.map(async (command) => {
        const { code, stdout, stderr } = await cli([...command, '--json'], { DATABASE_URL: url })
        // The time of the reading differs.
        return { command, code, stdout: stdout.replace(/"asOf": ".*"/, ''), stderr }
      }),
    )
  const expected = await results(db.url)
  expect(expected).toContainEqual(expect.objectContaining({ command: ['events'], code: 0 }))
  await server.stop()
  const url = databaseUrl(standby.url, TEMPLATE)
  expect(await results(url)).toEqual(expected)
  for (const name of ['status', 'stats'])
    expect(await cli([name, '--json'], { DATABASE_URL: url })).toMatchObject({ code: 0, stderr: '' })
  // A command that changes something needs the primary.
  const replay = await cli(['replay', receipt?.id ?? ''], { DATABASE_URL: url })
  expect(replay).toMatchObject({ code: 1, stderr: expect.stringContaining('read-only') })
})
