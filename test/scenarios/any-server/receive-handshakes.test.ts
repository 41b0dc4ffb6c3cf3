import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { asana, dropbox, meta, microsoftGraph, slack, x, zoom } from '../../../src/sources/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { receiving } from '../../support/receiver.ts'

/*
 * Handshakes over node:http: each is answered as its provider requires, and writes nothing to the
 * ledger.
 */

test('challenges are answered, and nothing of them is recorded', async () => {
  const db = await freshDatabase()
  const told: string[] = []
  const sources = {
    slack: slack({ secret: 's' }),
    zoom: zoom({ secret: 's' }),
    x: x({ secret: 's' }),
    meta: meta({ secret: 's', settings: { verifyToken: 'ours' } }),
    dropbox: dropbox({ secret: 's' }),
    graph: microsoftGraph({ secret: 's' }),
    asana: asana({ secret: 's', onSecret: (secret) => void told.push(secret) }),
  }
  const url = await receiving(db, { sources }).listen()
  const get = (path: string): Promise<Response> => fetch(`${url}/in/${path}`)
  const mac = (text: string, encoding: 'hex' | 'base64'): string =>
    createHmac('sha256', 's').update(text).digest(encoding)

  const dropped = await get('dropbox?challenge=a%20b')
  expect([dropped.status, await dropped.text()]).toEqual([200, 'a b'])
  expect(dropped.headers.get('x-content-type-options')).toBe('nosniff')
  expect(dropped.headers.get('content-type')).toBe('text/plain')

  const crc = await get('x?crc_token=abc')
  expect(await crc.json()).toEqual({ response_token: `sha256=${mac('abc', 'base64')}` })
  // The answer would be a valid signature of a delivery with this body.
  expect((await get(`x?crc_token=${encodeURIComponent('{"tweet_create_events":[]}')}`)).status).toBe(401)

  const hub = 'meta?hub.mode=subscribe&hub.challenge=42&hub.verify_token='
  expect(await (await get(`${hub}ours`)).text()).toBe('42')
  expect((await get(`${hub}theirs`)).status).toBe(401)

  const graph = await fetch(`${url}/in/graph?validationToken=t%3A1`, { method: 'POST' })
  expect([graph.status, await graph.text()]).toEqual([200, 't:1'])

  const verification = JSON.stringify({ type: 'url_verification', challenge: 'c-1' })
  const signed = sources.slack.deliver({ body: verification })
  const greeted = await fetch(`${url}/in/slack`, { ...signed, body: Buffer.from(signed.body) })
  expect([greeted.status, await greeted.text()]).toEqual([200, 'c-1'])
  expect((await fetch(`${url}/in/slack`, { method: 'POST', body: verification })).status).toBe(401)

  const validation = JSON.stringify({ event: 'endpoint.url_validation', payload: { plainToken: 'p1' } })
  const asked = sources.zoom.deliver({ body: validation })
  const validated = await fetch(`${url}/in/zoom`, { ...asked, body: Buffer.from(asked.body) })
  expect(await validated.json()).toEqual({ plainToken: 'p1', encryptedToken: mac('p1', 'hex') })

  const hooked = await fetch(`${url}/in/asana`, { method: 'POST', headers: { 'x-hook-secret': 'h-1' } })
  expect([hooked.status, hooked.headers.get('x-hook-secret')]).toEqual([200, 'h-1'])
  expect(told).toEqual(['h-1'])

  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
})

test('other methods stay refused, and a secret without onSecret is not echoed', async () => {
  const db = await freshDatabase()
  const sources = {
    slack: slack({ secret: 's' }),
    dropbox: dropbox({ secret: 's' }),
    asana: asana({ secret: 's' }),
  }
  const url = await receiving(db, { sources }).listen()
  expect((await fetch(`${url}/in/slack?challenge=1`)).status).toBe(405)
  expect((await fetch(`${url}/in/dropbox`)).status).toBe(405)
  const hooked = await fetch(`${url}/in/asana`, { method: 'POST', headers: { 'x-hook-secret': 'h-1' } })
  expect([hooked.status, hooked.headers.get('x-hook-secret')]).toEqual([401, null])
})

test('each of several equal pings is an event', async () => {
  const db = await freshDatabase()
  const source = dropbox({ secret: 's' })
  const { post } = receiving(db, { sources: { dropbox: source } })
  const body = '{"list_folder":{"accounts":["dbid:1"]}}'
  for (let time = 0; time < 2; time++) {
    const headers = { ...source.sign({ body }), 'hookonce-delivery': 'chosen by the sender' }
    expect((await post({ method: 'POST', headers, body }, '/in/dropbox')).status).toBe(202)
  }
  expect(await db.number('select count(distinct event_key) from hookonce.receipt')).toBe(2)
})
