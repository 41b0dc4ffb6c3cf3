import { useState } from 'preact/hooks'
import { canOperate, client, newKey } from '../api.ts'
import { toast } from '../shell/toasts.tsx'
import { texts } from '../texts.ts'
import { PlanDialog } from './dialog.tsx'

const words = texts.probe

export interface ProbeNowProps {
  /** A subscriber whose circuit is open, and which is not paused. A resume would end its pause too. */
  readonly source: string
  readonly tenant: string
  readonly subscriber: string
  /** The class of the button. */
  readonly size?: 'small'
  readonly onDone: () => void
}

/** The button that makes the next probe of an open circuit due. */
export function ProbeNow({ source, tenant, subscriber, size, onDone }: ProbeNowProps) {
  const [isOpen, setOpen] = useState(false)
  if (!canOperate.value) return null

  async function confirm(why: string): Promise<void> {
    const { probes } = await client.post('/subscribers/{source}/{subscriber}/resume', {
      params: { source, subscriber },
      body: { why, tenant },
      idempotencyKey: newKey(),
    })
    toast(probes > 0 ? words.notice(subscriber) : words.notYet)
    onDone()
  }

  return (
    <>
      <button type="button" class={size} onClick={() => setOpen(true)}>
        {words.verb}
        <span class="hidden"> {words.of(subscriber)}</span>
      </button>
      {isOpen && (
        <PlanDialog
          title={words.title(subscriber)}
          verb={words.verb}
          onClose={() => setOpen(false)}
          onConfirm={confirm}
        >
          <dl class="consequence">
            <dt>{words.will}</dt>
            <dd>{words.willText}</dd>
            <dt>{words.willNot}</dt>
            <dd>{words.willNotText}</dd>
          </dl>
        </PlanDialog>
      )}
    </>
  )
}
