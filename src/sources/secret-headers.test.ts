import { expect, test } from 'vitest'
import { everyProvider } from '../../test/support/catalogue.ts'
import { SECRET_HEADERS } from './secret-headers.ts'
import { secretHeaders } from './signature.ts'

test('lists the headers in which any provider sends its secret', async () => {
  const every = await everyProvider()
  const names = every.flatMap(({ description }) => secretHeaders(description.signature))
  expect([...SECRET_HEADERS]).toEqual([...new Set(names)].sort())
})
