import { alreadyRead, type BodyFault, type BodyLimits, BoundedBody } from './bounded-body.ts'
import type { Share } from './held-bytes.ts'

const READ_BEFORE =
  'the body was read before it reached hookonce: pass request.clone() before request.json() or request.text()'

/** The body of a request of the fetch standard. */
export async function readFetchBody(
  request: Request,
  limits: BodyLimits,
  share: Share,
): Promise<Uint8Array | BodyFault> {
  if (request.bodyUsed) return alreadyRead(READ_BEFORE)
  const reader = request.body?.getReader()
  if (!reader) return new Uint8Array()
  const { deadlines } = limits
  const body = new BoundedBody(limits, share)
  let isStalled = false
  // The sender may be gone already; an error of the cancelled stream changes nothing.
  const cancel = (): void => void reader.cancel().catch(() => undefined)
  function onStalled(): void {
    isStalled = true
    cancel()
  }
  deadlines.watch(onStalled)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isStalled) return body.stalled()
      if (done) return body.bytes()
      const fault = body.add(value)
      if (!fault) continue
      cancel()
      return fault
    }
  } catch (error) {
    return isStalled ? body.stalled() : body.incomplete(`the body broke off (${String(error)})`)
  } finally {
    deadlines.unwatch(onStalled)
  }
}
