import { toast } from '../shell/toasts.tsx'
import { texts } from '../texts.ts'

export async function copyText(text: string, notice: string = texts.copied): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    toast(notice)
  } catch {
    // Without TLS, browsers offer a clipboard only on loopback names.
    toast(texts.copyRefused, { isBad: true })
  }
}

/** A value that is copied on click. */
export function Copy({ text, shown = text }: { readonly text: string; readonly shown?: string }) {
  return (
    <button type="button" class="copy" title={texts.copyTitle(text)} onClick={() => void copyText(text)}>
      {shown}
    </button>
  )
}

/** A command to run in a terminal. */
export function Command({ text }: { readonly text: string }) {
  return (
    <div class="command">
      <code>{text}</code>
      <button type="button" class="small" onClick={() => void copyText(text)}>
        {texts.copy}
      </button>
    </div>
  )
}
