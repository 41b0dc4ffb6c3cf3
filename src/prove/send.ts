import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { textOfThrown } from '../model/thrown.ts'
import type { SignedDelivery } from '../sources/sign.ts'

/** The result for the sender: a status, or the reason why there was no response. */
export type Answer = { readonly status: number; readonly body: string } | { readonly error: string }

/** No provider waits longer. */
const ANSWER_WITHIN_MS = 30_000
/** Enough to show the receiver's answer. */
const SHOWN_BODY = 300

export function isAccepted(answer: Answer): boolean {
  return 'status' in answer && answer.status >= 200 && answer.status <= 299
}

export function answerText(answer: Answer): string {
  return 'status' in answer ? `${answer.status} ${answer.body}`.trim() : answer.error
}

/** Sends one delivery on its own connection. */
export async function send(base: URL, { url, headers, body }: SignedDelivery): Promise<Answer> {
  const request = requestTo(base, url, headers)
  try {
    request.end(body)
    const [response] = await once(request, 'response')
    let text = ''
    for await (const chunk of response) if (text.length < SHOWN_BODY) text += String(chunk)
    return { status: response.statusCode ?? 0, body: text.slice(0, SHOWN_BODY) }
  } catch (error) {
    return { error: textOfThrown(error) }
  }
}

/** Sends one delivery, and closes the connection some time later, so that the reply is lost. */
export async function sendAndLoseReply(
  base: URL,
  { url, headers, body }: SignedDelivery,
  afterMs: number,
): Promise<void> {
  const request = requestTo(base, url, headers)
  // Ignores the reply, and the error of the closed connection.
  request.on('response', (response) => response.resume()).on('error', () => undefined)
  await new Promise<void>((sent) => {
    request.on('close', sent).end(body, sent)
  })
  await sleep(afterMs)
  request.destroy()
}

function requestTo(base: URL, url: string, headers: Readonly<Record<string, string>>) {
  const start = base.protocol === 'https:' ? httpsRequest : httpRequest
  return start(new URL(url, base), {
    method: 'POST',
    headers,
    agent: false,
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  })
}

/** The delays of a provider's retries, shortened. */
const RETRY_AFTER_MS = [200, 400, 800, 1_600, 3_000]

/** Sends until it is accepted, like a provider. Every attempt has a new signature. */
export async function sendUntilAccepted(base: URL, sign: () => SignedDelivery): Promise<Answer> {
  let answer = await send(base, sign())
  for (const pauseMs of RETRY_AFTER_MS) {
    if (isAccepted(answer)) break
    await sleep(pauseMs)
    answer = await send(base, sign())
  }
  return answer
}

/** Whether a server accepts connections at this URL. */
export async function isListening({ hostname, port, protocol }: URL): Promise<boolean> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const socket = connect({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80) })
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(3_000) })
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
