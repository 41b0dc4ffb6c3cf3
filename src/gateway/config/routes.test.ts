import { expect, test } from 'vitest'
import type { Event } from '../../model/event.ts'
import { routesOf } from './routes.ts'

const sources = ['stripe', 'acme/github', 'bolt/github']
const app = { name: 'app' }
const audit = { name: 'audit' }

test('a destination without a route gets all events of its sources and types', () => {
  const { routes, faults } = routesOf({
    sources,
    destinations: [app, { name: 'code', sources: ['*/github'], types: 'push' }],
    routes: [],
  })
  expect(faults).toEqual([])
  expect(routes.map(({ source, destination, types }) => `${source} ${types} ${destination}`)).toEqual([
    'stripe * app',
    'acme/github * app',
    'bolt/github * app',
    'acme/github push code',
    'bolt/github push code',
  ])
})

test('several routes from a source to a destination are one subscription, which any of them opens', () => {
  const { routes } = routesOf({
    sources,
    destinations: [app, audit],
    routes: [
      { from: 'stripe', types: 'invoice.*', to: ['app', 'audit'] },
      {
        from: ['stripe'],
        types: ['charge.*', 'invoice.*'],
        where: { body: 'large', equals: true },
        to: 'app',
      },
    ],
  })
  expect(routes).toHaveLength(2)
  const [toApp, toAudit] = routes
  expect(toApp).toMatchObject({ source: 'stripe', destination: 'app', types: ['invoice.*', 'charge.*'] })
  expect(toAudit).toEqual({ source: 'stripe', destination: 'audit', types: ['invoice.*'] })
  const passes = (type: string, large: boolean): boolean | undefined =>
    toApp?.filter?.({ type, payload: { large }, headers: {} } as unknown as Event)
  expect(passes('invoice.paid', false)).toBe(true)
  expect(passes('charge.failed', false)).toBe(false)
  expect(passes('charge.failed', true)).toBe(true)
})

test('unknown names in routes are reported, with their path', () => {
  const { faults } = routesOf({
    sources,
    destinations: [
      { ...app, types: 'a' },
      { name: 'code', sources: ['githb'] },
    ],
    routes: [
      { from: ['stripe', 'acme/gitub'], types: '*', to: ['app', 'ap'] },
      { from: 'none/*', types: '*', where: { all: [{ body: 'a' }] }, to: 'app' },
    ],
  })
  expect(faults.map(({ path, message }) => `${path.join('.')}: ${message.split(';')[0]}`)).toEqual([
    'destinations.app: routes name this destination: move its `sources` and `types` to a route',
    'destinations.code.sources.0: no source is named "githb"',
    'routes.0.to.1: no destination is named "ap" (did you mean "app"?)',
    'routes.0.from.1: no source is named "acme/gitub" (did you mean "acme/github"?)',
    'routes.1.where.all.0: a condition needs one of equals, in, exists, prefix, greaterThan, atLeast, lessThan, atMost',
    'routes.1.from: no source matches "none/*"',
  ])
})
