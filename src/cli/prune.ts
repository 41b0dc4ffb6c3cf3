import { type PruneCounts, planPrune, prune as pruneLedger } from '../operate/prune.ts'
import { type Command, ledgerOptions, parse, parseDuration } from './command.ts'
import { longWork } from './long-work.ts'
import { withLedger } from './open-ledger.ts'
import { print, printJson } from './print.ts'

const usage = `hookonce prune [--messages-older-than 7d] [--dry-run] [--json] [--dir DIR]

Deletes data that is past its retention: bodies, then receipts with their jobs and attempts, and old statistics. Running
workers do the same, a little at a time. Events whose jobs are not finished are kept.

  --messages-older-than   also deletes published and failed outbox messages that are finished for this long
  --dry-run               only counts
It works in small transactions and may run beside workers. Ctrl-C stops it after the current one; run it again to continue.`

export const prune: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      ...ledgerOptions,
      'messages-older-than': { type: 'string' },
      'dry-run': { type: 'boolean', default: false },
    })
    const age = values['messages-older-than']
    const keepMessagesMs = age === undefined ? undefined : parseDuration({ usage }, age)
    await withLedger(values.dir, async (ledger) => {
      const plan = await planPrune(ledger, { keepMessagesMs })
      if (values['dry-run'])
        return values.json
          ? printJson(plan)
          : print(`would delete ${plan.isComplete ? '' : 'at least '}${countsText(plan)}`)
      const { result, wasInterrupted } = await longWork('rows', (watch) =>
        pruneLedger(ledger, { ...plan, keepMessagesMs }, watch),
      )
      if (values.json) return printJson({ ...result, isComplete: !wasInterrupted })
      print(`deleted ${countsText(result)}`)
      if (wasInterrupted) print('stopped before the end: run `hookonce prune` again to continue')
    })
  },
}

function countsText({ bodies, receipts, messages }: PruneCounts): string {
  return `${counted(bodies, 'body', 'bodies')}, ${counted(receipts, 'receipt', 'receipts')} and ${counted(messages, 'message', 'messages')}`
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
