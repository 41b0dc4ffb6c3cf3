import { expect, it } from 'vitest'
import { checkDescription } from './description.ts'
import { findProvider, providerIds } from './index.ts'
import { providerPage } from './page.ts'

it.each(providerIds)('the page of %s states the facts of its description', async (id) => {
  const make = await findProvider(id)
  if (make === undefined) throw new Error(id)
  const description = checkDescription(make.description)
  const page = providerPage(description)
  for (const text of [...(description.about?.notes ?? []), ...(description.about?.unverified ?? [])])
    expect(page).toContain(text)
  expect(page).toContain(`recorded: ${description.acceptedStatus}`)
  expect(page).not.toMatch(/undefined|\[object/)
})
