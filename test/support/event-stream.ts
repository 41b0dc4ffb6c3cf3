import { onTestFinished } from 'vitest'
import { until } from './until.ts'

export interface StreamedEvent {
  readonly id: string
  readonly type: string
  // biome-ignore lint/suspicious/noExplicitAny: a test names what it expects.
  readonly data: any
}

export interface EventStream {
  readonly status: number
  readonly events: StreamedEvent[]
  /** Waits for a matching event. */
  next(what: string, fits: (event: StreamedEvent) => boolean): Promise<StreamedEvent>
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>
  close(): void
}

/** Reads server-sent events until it is closed. */
export async function eventStream(url: string, headers: Record<string, string>): Promise<EventStream> {
  const controller = new AbortController()
  onTestFinished(() => controller.abort())
  const response = await fetch(url, { headers, signal: controller.signal })
  const events: StreamedEvent[] = []
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of response.body ?? []) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? ''
        if (field('data') !== '')
          events.push({ id: field('id'), type: field('event'), data: JSON.parse(field('data')) })
      }
    }
  }
  const ended = read().catch(() => undefined)
  return {
    status: response.status,
    events,
    ended,
    next: (what, fits) => until(what, () => events.find(fits)),
    close: () => controller.abort(),
  }
}
