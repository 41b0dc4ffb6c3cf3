import { useState } from 'preact/hooks'
import { canOperate } from '../api.ts'
import { toast } from '../shell/toasts.tsx'
import { texts } from '../texts.ts'
import { PlanDialog } from './dialog.tsx'

const words = texts.pause

export interface PauseProps {
  /** The noun for the target: a source, or a destination. */
  readonly name: string
  readonly isPaused: boolean
  /** Further consequences of this pause. */
  readonly hint: string
  readonly onConfirm: (verb: 'pause' | 'resume', why: string) => Promise<void>
}

/** The button that pauses or resumes the jobs of a source or a subscriber. */
export function Pause({ name, isPaused, hint, onConfirm }: PauseProps) {
  const [isOpen, setOpen] = useState(false)
  if (!canOperate.value) return null
  const verb = isPaused ? 'resume' : 'pause'
  return (
    <>
      <button type="button" class="small" onClick={() => setOpen(true)}>
        {words.verbs[verb]}
        <span class="hidden"> {name}</span>
      </button>
      {isOpen && (
        <PlanDialog
          title={words.title(verb, name)}
          verb={words.verbs[verb]}
          onClose={() => setOpen(false)}
          onConfirm={async (why) => {
            await onConfirm(verb, why)
            toast(words.done(verb, name))
          }}
        >
          <dl class="consequence">
            <dt>{words.will}</dt>
            <dd>{isPaused ? words.willResume : words.willPause}</dd>
            <dt>{words.willNot}</dt>
            <dd>{isPaused ? words.willNotResume : words.willNotPause}</dd>
          </dl>
          <p class="muted">{hint}</p>
        </PlanDialog>
      )}
    </>
  )
}
