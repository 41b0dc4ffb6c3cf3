import { HookonceError } from '../model/errors.ts'
import { findProvider, providerIds } from '../sources/catalogue/index.ts'
import { type CheckedDescription, checkDescription } from '../sources/description.ts'
import { providerPage } from '../sources/page.ts'
import { type Command, parse } from './command.ts'
import { print, printJson, table } from './print.ts'

const usage = `hookonce sources [words] [--json]
hookonce sources <id> [--json]

Lists the providers of the catalogue, or those that the words are found in: id, name, category, notes.
With the id of one it shows its page: how it signs, what names an event, how long it retries, and how sure we are.`

export const sources: Command = {
  name: 'sources',
  summary: 'list the providers, or show the page of one',
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage }, args, { json: { type: 'boolean', default: false } })
    const all = await descriptions()
    const [id = '', ...others] = positionals
    const one = others.length === 0 ? all.find(({ provider }) => provider === id) : undefined
    if (one) return values.json ? printJson(one) : print(providerPage(one))

    const words = positionals.map((word) => word.toLowerCase())
    const found = all.filter((description) => words.every((word) => textOf(description).includes(word)))
    if (found.length === 0)
      throw new HookonceError(
        'CONFIG_INVALID',
        `no provider is found by "${positionals.join(' ')}": \`hookonce sources\` lists all, and custom() describes any other`,
      )
    if (values.json) return printJson(found)
    print(
      table(
        ['ID', 'NAME', 'CATEGORY', 'SIGNATURE', 'SURE'],
        found.map(({ provider, about, signature }) => [
          provider,
          about?.name ?? provider,
          about?.category ?? '',
          signature.algorithm,
          about?.confidence ?? '',
        ]),
      ),
    )
  },
}

async function descriptions(): Promise<CheckedDescription[]> {
  const found = await Promise.all(providerIds.map((id) => findProvider(id)))
  return found.flatMap((make) => (make ? [checkDescription(make.description)] : []))
}

function textOf({ provider, about }: CheckedDescription): string {
  return [provider, about?.name, about?.category, ...(about?.notes ?? [])].join(' ').toLowerCase()
}
