import type { ServerResponse } from 'node:http'
import type { Reply } from './message.ts'

/** Sends the body of a reply whose head is set. */
export async function sendBody(response: ServerResponse, body: Reply['body']): Promise<void> {
  if (body instanceof Uint8Array) {
    const mayHaveLength = response.statusCode !== 204 && response.statusCode !== 304
    if (mayHaveLength && !response.hasHeader('transfer-encoding'))
      response.setHeader('content-length', body.length)
    response.end(body)
    return
  }
  response.flushHeaders()
  const pace = pacing(response)
  try {
    for await (const chunk of body) {
      // To the end also when nobody listens any more: the handler is still writing.
      if (!response.destroyed && !response.write(chunk)) await pace.drained()
    }
    response.end()
  } catch (error) {
    // It broke off in the middle: only a broken connection tells the client so.
    response.destroy(error instanceof Error ? error : undefined)
  } finally {
    pace.stop()
  }
}

/** One listener for all waits: middleware that wraps a response may be unable to take one away again. */
function pacing(response: ServerResponse): { drained(): Promise<void>; stop(): void } {
  let go: () => void = () => undefined
  const onGo = (): void => go()
  response.on('drain', onGo).on('close', onGo)
  return {
    drained: () =>
      new Promise((resolve) => {
        go = resolve
        if (response.destroyed) resolve()
      }),
    stop: () => void response.off('drain', onGo).off('close', onGo),
  }
}
