/** Fetches a small text from an address that was checked before. Anything but a plain 200 is an error. */
export type FetchText = (url: string) => Promise<string>

// A provider waits for our answer meanwhile; the strictest give three seconds.
const TIMEOUT_MS = 2_500
// A certificate chain or a set of keys; more is neither.
const MAX_CHARS = 64 * 1024

export const fetchText: FetchText = async (url) => {
  // A redirect could lead from the genuine host to any other.
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) })
  if (response.status !== 200) throw new Error(`answered ${response.status}`)
  const reader = response.body?.getReader()
  let text = ''
  const decoder = new TextDecoder()
  for (;;) {
    const read = await reader?.read()
    if (read === undefined || read.done) return text
    text += decoder.decode(read.value, { stream: true })
    if (text.length > MAX_CHARS) {
      await reader?.cancel()
      throw new Error(`longer than ${MAX_CHARS} characters`)
    }
  }
}
