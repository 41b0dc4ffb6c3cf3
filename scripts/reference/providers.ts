import { type CheckedDescription, checkDescription } from '../../src/sources/description.ts'
import { findProvider, providerIds } from '../../src/sources/index.ts'
import { EVIDENCE, placeText, proofText } from '../../src/sources/page.ts'
import { code, markdownTable } from './markdown.ts'

/** The ids of all providers, by category. */
export async function categoryTable(): Promise<string> {
  const rows = [...(await byCategory())].map(([category, providers]) => [
    category,
    providers.map(({ provider }) => code(provider)).join(', '),
  ])
  return markdownTable(['category', 'providers'], rows)
}

/** A table per category: how each provider signs, and what identifies an event. */
export async function providerTables(): Promise<string> {
  const tables = [...(await byCategory())].map(([category, providers]) => {
    const rows = providers.map(({ provider, about, signature, event }) => [
      `${about?.name ?? provider}, ${code(provider)}`,
      proofText(signature),
      placeText(event.key),
      about?.confidence ?? '',
    ])
    return `## ${category}\n\n${markdownTable(['provider', 'signature', 'event key', 'evidence'], rows)}`
  })
  return tables.join('\n\n')
}

/** What each level of evidence means. */
export function evidenceTable(): string {
  return markdownTable(['evidence', 'means'], Object.entries(EVIDENCE))
}

async function byCategory(): Promise<Map<string, CheckedDescription[]>> {
  const categories = new Map<string, CheckedDescription[]>()
  for (const id of providerIds) {
    const given = (await findProvider(id))?.description
    if (!given) throw new Error(`the catalogue lists "${id}", but it has no description`)
    const description = checkDescription(given)
    const category = description.about?.category ?? 'other'
    categories.set(category, [...(categories.get(category) ?? []), description])
  }
  return new Map([...categories].sort(([one], [other]) => (one < other ? -1 : 1)))
}
