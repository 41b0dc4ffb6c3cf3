import type { ItemOf } from 'hookonce/client'
import { useState } from 'preact/hooks'
import { canOperate, client, newKey } from '../../api.ts'
import { PlanDialog } from '../../parts/dialog.tsx'
import { href } from '../../router.ts'
import { toast } from '../../shell/toasts.tsx'
import { texts } from '../../texts.ts'

export type Source = ItemOf<'/sources'>

const words = texts.sources.test

/** Sends a signed sample event through the whole gateway. */
export function TestEvent({ source: { source, tenant } }: { readonly source: Source }) {
  const [isOpen, setOpen] = useState(false)
  const [type, setType] = useState('')
  if (!canOperate.value) return null

  async function send(why: string): Promise<void> {
    const sent = await client.post('/sources/{source}/test', {
      params: { source },
      body: { why, tenant, ...(type.trim() === '' ? {} : { type: type.trim() }) },
      idempotencyKey: newKey(),
    })
    const isGood = sent.status < 300
    toast(
      <>
        {words.sent(sent.eventType, sent.status)} {isGood ? '' : sent.answer}
        {sent.receiptId !== null && <a href={href(`/events/${sent.receiptId}`)}>{words.open}</a>}
      </>,
      { isBad: !isGood },
    )
  }

  return (
    <>
      <button type="button" class="small" title={words.verb} onClick={() => setOpen(true)}>
        {words.short}
        <span class="hidden"> {source}</span>
      </button>
      {isOpen && (
        <PlanDialog
          title={words.title(source)}
          verb={words.verb}
          onClose={() => setOpen(false)}
          onConfirm={send}
        >
          <dl class="consequence">
            <dt>{words.will}</dt>
            <dd>{words.willText}</dd>
          </dl>
          <label class="field">
            <span>{words.type}</span>
            <input
              name="type"
              value={type}
              maxLength={200}
              autocomplete="off"
              onInput={(event) => setType(event.currentTarget.value)}
            />
            <small>{words.typeHint}</small>
          </label>
        </PlanDialog>
      )}
    </>
  )
}
