import type { ItemOf } from 'hookonce/client'
import { useState } from 'preact/hooks'
import { client, newKey } from '../../api.ts'
import { PlanDialog } from '../../parts/dialog.tsx'
import { toast } from '../../shell/toasts.tsx'
import { texts } from '../../texts.ts'

export type UnknownEffect = ItemOf<'/attention'>

const words = texts.attention

export const verbs = ['confirm-done', 'confirm-not-done', 'retry-same-key', 'abandon'] as const
export type Verb = (typeof verbs)[number]

/** The consequence of one decision, and the reason for the audit. */
export function Decide({
  effect,
  verb,
  onClose,
  onDone,
}: {
  readonly effect: UnknownEffect
  readonly verb: Verb
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const [result, setResult] = useState('')
  const { title, consequence, risk, notice } = words.verbs[verb]
  const isDone = verb === 'confirm-done'
  const isJson = result.trim() === '' || parses(result)

  async function decide(why: string): Promise<void> {
    const body = { key: effect.key, tenant: effect.tenant, why }
    // Sends the text, not a parsed value: JavaScript would round large integers.
    const given = isDone && result.trim() !== '' ? { resultText: result.trim() } : {}
    const { jobs } = isDone
      ? await client.post('/attention/confirm-done', {
          body: { ...body, ...given },
          idempotencyKey: newKey(),
        })
      : await client.post(`/attention/${verb}`, { body, idempotencyKey: newKey() })
    toast(notice(effect.key, jobs))
    onDone()
  }

  return (
    <PlanDialog
      title={`${title}: ${effect.key}`}
      verb={title}
      isDangerous={verb === 'abandon'}
      isReady={isJson}
      onConfirm={decide}
      onClose={onClose}
    >
      <dl class="consequence">
        <dt>{consequence(effect.jobs.length)}</dt>
        <dd>{risk}</dd>
      </dl>
      {isDone && (
        <label class="field">
          <span>{words.result}</span>
          <textarea
            name="result"
            class="mono"
            rows={3}
            maxLength={60_000}
            spellcheck={false}
            value={result}
            aria-invalid={!isJson}
            onInput={(event) => setResult(event.currentTarget.value)}
          />
          <small class={isJson ? undefined : 'fault'}>{isJson ? words.resultHint : words.resultWrong}</small>
        </label>
      )}
    </PlanDialog>
  )
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
