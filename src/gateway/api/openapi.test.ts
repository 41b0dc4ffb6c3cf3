import { createConfig, lintFromString } from '@redocly/openapi-core'
import { expect, test } from 'vitest'
import { openApi } from './openapi.ts'
import { routes } from './routes.ts'

test('the document is valid OpenAPI 3.1, by the rules of a linter', async () => {
  const config = await createConfig({ extends: ['recommended-strict'] })
  const source = JSON.stringify(openApi(routes, '/api/v1'))
  const found = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  expect(found.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([])
})

test('the linter detects a fault', async () => {
  const config = await createConfig({ extends: ['recommended-strict'] })
  const document = openApi(routes, '/api/v1')
  const source = JSON.stringify({ ...document, paths: { '/x/{id}': { get: { responses: {} } } } })
  expect((await lintFromString({ source, absoluteRef: 'openapi.json', config })).length).toBeGreaterThan(0)
})

test('no two routes share method and path, and every list has a page', () => {
  const names = routes.map(({ method, path }) => `${method} ${path}`)
  expect(new Set(names).size).toBe(names.length)
  for (const { method, isKeyed, path } of routes)
    if (method === 'GET') expect([path, isKeyed]).toEqual([path, false])
})
