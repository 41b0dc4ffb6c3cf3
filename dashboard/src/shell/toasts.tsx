import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { texts } from '../texts.ts'

interface Toast {
  readonly id: number
  readonly text: ComponentChildren
  readonly isBad: boolean
}

const toasts = signal<readonly Toast[]>([])
let count = 0
const SHOWN_MS = 5_000
/** Failures stay until the user closes them. At most this many are kept. */
const MAX_SHOWN = 4

export function toast(text: ComponentChildren, { isBad = false }: { readonly isBad?: boolean } = {}): void {
  count += 1
  const id = count
  toasts.value = [...toasts.peek(), { id, text, isBad }].slice(-MAX_SHOWN)
  if (!isBad) setTimeout(() => close(id), SHOWN_MS)
}

function close(id: number): void {
  toasts.value = toasts.peek().filter((one) => one.id !== id)
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, isBad }) => (
        <div key={id} class={isBad ? 'toast bad' : 'toast'}>
          <span>{text}</span>
          <button type="button" aria-label={texts.close} onClick={() => close(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  )
}
