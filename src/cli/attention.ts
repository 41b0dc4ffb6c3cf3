import { userInfo } from 'node:os'
import type { UnknownEffect } from '../ledger/jobs/attention.ts'
import { decideAttention, listAttention, type Verb, verbs } from '../operate/attention.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { lookingIn } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce attention list [--json] [--dir DIR]
hookonce attention confirm-done <effect key> --why TEXT [--result JSON] [--by NAME] [--tenant NAME] [--json] [--dir DIR]
hookonce attention confirm-not-done <effect key> --why TEXT …
hookonce attention retry-same-key <effect key> --why TEXT …
hookonce attention abandon <effect key> --why TEXT …

Effects whose outcome is unknown: a call was made and nobody recorded how it ended. Ask the other side by the key that
it was given, then decide.

  confirm-done       it happened: the jobs that wait go on with --result
  confirm-not-done   it did not happen: it is called again, with a new key
  retry-same-key     it is called again with the key that was used: the other side must still know it
  abandon            the jobs that wait are given up; the effect stays unknown and listed

Who decided (--by, else the user who runs this), when and why is kept and shown by \`hookonce show\`.`

export const attention: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 2 }, args, {
      ...ledgerOptions,
      tenant: { type: 'string', default: 'default' },
      by: { type: 'string' },
      why: { type: 'string' },
      result: { type: 'string' },
    })
    const [what, key] = positionals
    if (what === 'list') {
      if (key !== undefined) throw usageError({ usage }, `unexpected argument "${key}"`)
      const unknown = await lookingIn(values.dir, listAttention)
      return values.json ? printJson(unknown) : print(asText(unknown))
    }
    const verb = verbs.find((candidate) => candidate === what)
    if (!verb) throw usageError({ usage }, `list, or one of ${verbs.join(', ')}?`)
    if (!key) throw usageError({ usage }, 'which effect? Give its key')
    if (!values.why) throw usageError({ usage }, 'why? Give the reason with --why: it is kept')
    const { tenant, why, by = userInfo().username } = values
    const verdict = { tenant, key, verb, by, why, result: resultOf(verb, values.result) }
    const decided = await lookingIn(values.dir, (ledger) => decideAttention(ledger, verdict))
    if (values.json) return printJson(decided)
    print(`${safe(key)}: ${verb}, ${decided.jobs} ${decided.jobs === 1 ? 'job' : 'jobs'} ${movedBy(verb)}`)
  },
}

function movedBy(verb: Verb): string {
  return verb === 'abandon' ? 'given up' : 'received again'
}

function resultOf(verb: Verb, text: string | undefined): unknown {
  if (text === undefined) return undefined
  if (verb !== 'confirm-done') throw usageError({ usage }, '--result goes with confirm-done')
  try {
    return JSON.parse(text)
  } catch {
    throw usageError({ usage }, `--result must be JSON, not "${text}"`)
  }
}

function asText(unknown: readonly UnknownEffect[]): string {
  if (unknown.length === 0) return 'nothing needs attention'
  const rows = unknown.map((effect) => [
    safe(effect.key),
    effect.mode,
    clock(effect.startedAt),
    effect.downstreamKey,
    effect.jobs.map((job) => `${job.receiptId} ${safe(job.subscriber)}`).join(', ') || 'abandoned',
    safe(effect.reason),
  ])
  return table(['EFFECT', 'MODE', 'CALLED', 'IDEMPOTENCY-KEY', 'WAITING JOBS', 'WHY'], rows)
}
