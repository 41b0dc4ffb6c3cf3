import {
  type AttentionVerb,
  attentionVerbs,
  decideAttention,
  listAttention,
  type UnknownEffect,
} from '../operate/attention.ts'
import { requireTenant } from '../operate/sources.ts'
import { actorOf } from './actor.ts'
import { unknownVerb } from './choices.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'
import { type TenantColumn, tenantColumn } from './tenant-column.ts'

const usage = `hookonce attention list [--tenant NAME] [--json] [--dir DIR]
hookonce attention confirm-done <effect key> --why TEXT [--result JSON] [--by NAME] [--tenant NAME] [--json] [--dir DIR]
hookonce attention confirm-not-done <effect key> --why TEXT …
hookonce attention retry-same-key <effect key> --why TEXT …
hookonce attention abandon <effect key> --why TEXT …

Effects whose outcome is unknown: a call was made, and no reply was recorded. Search for the call in the called service by its
idempotency key, then decide.

  confirm-done       the call happened: the waiting jobs continue with --result
  confirm-not-done   the call did not happen: it is made again, with a new key
  retry-same-key     the call is made again with the same key: the called service must still know the key
  abandon            the waiting jobs fail; the effect stays unknown and listed

Without an argument it lists them. \`hookonce show\` and \`hookonce audit\` show who decided (--by, else your user name), when and why.`

export const attention: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 2 }, args, {
      ...ledgerOptions,
      tenant: { type: 'string' },
      by: { type: 'string' },
      why: { type: 'string' },
      result: { type: 'string' },
    })
    const [word, key] = positionals
    if (word === undefined || word === 'list') {
      if (key !== undefined) throw usageError({ usage }, `unexpected argument "${key}"`)
      const { unknown, column } = await withLedger(values.dir, async (ledger) => {
        await requireTenant(ledger, values.tenant)
        const { tenant } = values
        return { unknown: await listAttention(ledger, { tenant }), column: await tenantColumn(ledger) }
      })
      return values.json ? printJson(unknown) : print(asText(unknown, column))
    }
    const verb = attentionVerbs.find((candidate) => candidate === word)
    if (!verb) throw unknownVerb({ usage }, word, ['list', ...attentionVerbs])
    if (!key) throw usageError({ usage }, 'give the key of the effect')
    if (!values.why) throw usageError({ usage }, 'give the reason with --why: the audit records it')
    const { tenant = 'default', why } = values
    const by = actorOf(values.by)
    const decision = { tenant, key, verb, by, why, result: resultOf(verb, values.result) }
    const decided = await withLedger(values.dir, (ledger) => decideAttention(ledger, decision))
    if (values.json) return printJson(decided)
    print(`${safe(key)}: ${verb}, ${decided.jobs} ${decided.jobs === 1 ? 'job' : 'jobs'} ${movedBy(verb)}`)
  },
}

function movedBy(verb: AttentionVerb): string {
  return verb === 'abandon' ? 'given up' : 'received again'
}

function resultOf(verb: AttentionVerb, text: string | undefined): unknown {
  if (text === undefined) return undefined
  if (verb !== 'confirm-done') throw usageError({ usage }, '--result goes with confirm-done')
  try {
    return JSON.parse(text)
  } catch {
    throw usageError({ usage }, `--result must be JSON, not "${text}"`)
  }
}

function asText(unknown: readonly UnknownEffect[], column: TenantColumn): string {
  if (unknown.length === 0) return 'nothing needs attention'
  const rows = unknown.map((effect) => [
    ...column.cell(effect.tenant),
    safe(effect.key),
    effect.mode,
    clock(effect.startedAt),
    effect.downstreamKey,
    effect.jobs.map((job) => `${job.receiptId} ${safe(job.subscriber)}`).join(', ') || 'abandoned',
    safe(effect.reason),
  ])
  return table([...column.head, 'EFFECT', 'MODE', 'CALLED', 'IDEMPOTENCY-KEY', 'WAITING JOBS', 'WHY'], rows)
}
