import { expect, test } from 'vitest'
import { isLoopback } from './loopback.ts'
import { ignoring, refuseProduction } from './open-stage.ts'

test.each(['localhost', 'app.localhost', '127.0.0.1', '127.1.2.3', '::1', '[::1]', '/var/run/postgresql'])(
  '%s is this machine',
  (host) => expect(isLoopback(host)).toBe(true),
)

test.each(['db', 'example.com', '10.0.0.1', '127.0.0.1.example.com', 'localhost.example.com', '0.0.0.0', ''])(
  '%s may be another machine',
  (host) => expect(isLoopback(host)).toBe(false),
)

test.each(['production', 'shop_prod', 'live-db'])('a database named %s is refused', (name) => {
  expect(() => refuseProduction([{ option: '--database', host: 'localhost', name }])).toThrow(
    /--yes-not-production/,
  )
})

test('another machine is refused, this machine is not', () => {
  expect(() => refuseProduction([{ option: '--url', host: 'shop.example', name: 'shop.example' }])).toThrow(
    /not on this machine/,
  )
  refuseProduction([{ option: '--database', host: '127.0.0.1', name: 'products_test' }])
})

test('a pattern names a table in every schema, a schema, or a column', () => {
  const isIgnored = ignoring(['hookonce.*', 'log', 'public.seen.counter'])
  const names = ['hookonce.job', 'public.log', 'app.log', 'public.seen.counter']
  expect(names.filter(isIgnored)).toEqual(names)
  expect(['public.hookonce', 'public.logs', 'public.seen', 'public.log.at'].filter(isIgnored)).toEqual([])
})
