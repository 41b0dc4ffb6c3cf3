import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { explain } from '../api.ts'
import { texts } from '../texts.ts'

export interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  readonly foot?: ComponentChildren
}

/** A modal dialog. The browser keeps the focus inside, and restores it when the dialog closes. */
export function Dialog({ title, onClose, children, foot }: DialogProps) {
  const ref = useModal(onClose)
  const id = useId()
  return (
    <dialog ref={ref} aria-labelledby={id}>
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="quiet small right" aria-label={texts.close} onClick={onClose}>
          ✕
        </button>
      </div>
      <div class="dialog-body">{children}</div>
      {foot !== undefined && <div class="dialog-foot">{foot}</div>}
    </dialog>
  )
}

/**
 * Opens a <dialog> while its component is mounted. A click outside or Escape closes it. The element
 * with `data-first`, if there is one, gets the focus.
 */
export function useModal(onClose: () => void) {
  const ref = useRef<HTMLDialogElement>(null)
  const latest = useRef(onClose)
  latest.current = onClose
  // Closes at once, not after the next frame: the code that closes the dialog may move the focus
  // afterwards.
  useLayoutEffect(() => {
    const dialog = ref.current
    if (!dialog) return
    const before = document.activeElement
    dialog.showModal()
    dialog.querySelector<HTMLElement>('[data-first]')?.focus()
    const close = (event: Event): void => {
      event.preventDefault()
      latest.current()
    }
    const press = (event: MouseEvent): void => {
      if (event.target === dialog) latest.current()
    }
    dialog.addEventListener('cancel', close)
    dialog.addEventListener('mousedown', press)
    return () => {
      dialog.removeEventListener('cancel', close)
      dialog.removeEventListener('mousedown', press)
      dialog.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return ref
}

export interface PlanDialogProps {
  readonly title: string
  /** The consequences of the action, shown before it. */
  readonly children: ComponentChildren
  /** The verb on the button. */
  readonly verb: string
  readonly isDangerous?: boolean
  /** False while the plan is being read, or if there is nothing to do. */
  readonly isReady?: boolean
  /**
   * Performs the action, with the reason for the audit. Afterwards the dialog closes, or shows the
   * error.
   */
  readonly onConfirm: (why: string) => Promise<void>
  readonly onClose: () => void
}

/** A dialog before an action: the plan, its consequence, and the reason for the audit. */
export function PlanDialog(props: PlanDialogProps) {
  const { title, children, verb, isDangerous = false, isReady = true, onConfirm, onClose } = props
  const [why, setWhy] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const id = useId()

  async function confirm(event: Event): Promise<void> {
    event.preventDefault()
    if (isBusy || !isReady) return
    setBusy(true)
    setError(undefined)
    try {
      await onConfirm(why.trim())
      onClose()
    } catch (thrown) {
      setError(thrown)
      setBusy(false)
    }
  }

  const foot = (
    <>
      <button type="button" onClick={onClose}>
        {texts.cancel}
      </button>
      <button
        type="submit"
        form={id}
        class={isDangerous ? 'danger' : 'first'}
        disabled={isBusy || !isReady || why.trim() === ''}
      >
        {isBusy ? texts.working : verb}
      </button>
    </>
  )
  return (
    <Dialog title={title} onClose={onClose} foot={foot}>
      {children}
      <form id={id} onSubmit={(event) => void confirm(event)}>
        <label class="field">
          <span>{texts.why}</span>
          <input
            name="why"
            data-first
            value={why}
            maxLength={1_000}
            autocomplete="off"
            required
            onInput={(event) => setWhy(event.currentTarget.value)}
          />
          <small>{texts.whyHint}</small>
        </label>
      </form>
      {error !== undefined && (
        <p class="fault" role="alert">
          {explain(error)}
        </p>
      )}
    </Dialog>
  )
}
