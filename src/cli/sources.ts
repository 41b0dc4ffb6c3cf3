import { didYouMean } from '../input/closest.ts'
import { HookonceError } from '../model/errors.ts'
import { listKeyFindings } from '../operate/sources.ts'
import { findProvider, providerIds } from '../sources/catalogue/index.ts'
import { type CheckedDescription, checkDescription } from '../sources/description.ts'
import { providerPage } from '../sources/page.ts'
import { type Command, ledgerOptions, parse } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { print, printJson, safe, table } from './print.ts'

const usage = `hookonce sources [words] [--json]
hookonce sources <id> [--json]
hookonce sources lint [--json] [--dir DIR]

Lists the providers of the catalogue, or those whose id, name, category or notes contain the words.
With an id it shows that provider's page: how it signs, how it names an event, how long it retries, and how sure we are.
lint reads the ledger and reports, with numbers, event keys that are constant, often missing, shared by different events,
or new with each retry. It exits with 1 if there are any.`

export const sources: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: Number.POSITIVE_INFINITY }, args, ledgerOptions)
    if (positionals.join(' ') === 'lint') return lint(values)
    const all = await descriptions()
    const [id = '', ...others] = positionals
    const one = others.length === 0 ? all.find(({ provider }) => provider === id) : undefined
    if (one) return values.json ? printJson(one) : print(providerPage(one))

    const words = positionals.map((word) => word.toLowerCase())
    const found = all.filter((description) => words.every((word) => textOf(description).includes(word)))
    if (found.length === 0)
      throw new HookonceError(
        'CONFIG_INVALID',
        `no provider matches "${positionals.join(' ')}"${didYouMean(positionals.join(' '), ['lint', ...providerIds])}: \`hookonce sources\` lists all providers; for any other, use custom()`,
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

async function lint({ dir, json }: { readonly dir: string; readonly json: boolean }): Promise<void> {
  const findings = await withLedger(dir, (ledger) => listKeyFindings(ledger))
  if (findings.length > 0) process.exitCode = 1
  if (json) return printJson(findings)
  if (findings.length === 0) return print('the event keys of all sources look right')
  for (const { source, finding, says } of findings) print(safe(`${source}: ${finding}: ${says}`))
}

async function descriptions(): Promise<CheckedDescription[]> {
  const found = await Promise.all(providerIds.map((id) => findProvider(id)))
  return found.flatMap((make) => (make ? [checkDescription(make.description)] : []))
}

function textOf({ provider, about }: CheckedDescription): string {
  return [provider, about?.name, about?.category, ...(about?.notes ?? [])].join(' ').toLowerCase()
}
