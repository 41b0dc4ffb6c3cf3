import type { TopicPublisher } from './publishers.ts'

/**
 * Room for lanes in this process: so many for each publisher, so that one that hangs takes nothing
 * from the others.
 */
export interface PublisherSlots {
  readonly areAnyFree: boolean
  readonly areAllFree: boolean
  /** The first that takes the topic. */
  publisherOf(topic: string): TopicPublisher | undefined
  /** Shares the free slots out among topics, and takes them; no more than `most`. */
  share(topics: readonly string[], most: number): Map<string, number>
  giveBack(topic: string, count: number): void
}

export function publisherSlots(publishers: readonly TopicPublisher[], concurrency: number): PublisherSlots {
  const free = new Map(publishers.map((publisher) => [publisher, concurrency]))

  function publisherOf(topic: string): TopicPublisher | undefined {
    return publishers.find(({ takes }) => takes(topic))
  }

  function take(publisher: TopicPublisher, count: number): void {
    free.set(publisher, (free.get(publisher) ?? 0) - count)
  }

  return {
    get areAnyFree() {
      return [...free.values()].some((slots) => slots > 0)
    },
    get areAllFree() {
      return [...free.values()].every((slots) => slots === concurrency)
    },
    publisherOf,
    share(topics, most) {
      const shares = new Map<string, number>()
      let left = most
      for (const topic of topics) {
        const publisher = publisherOf(topic)
        const share = publisher ? Math.min(free.get(publisher) ?? 0, left) : 0
        if (!publisher || share <= 0) continue
        shares.set(topic, share)
        take(publisher, share)
        left -= share
      }
      return shares
    },
    giveBack(topic, count) {
      const publisher = publisherOf(topic)
      if (publisher) take(publisher, -count)
    },
  }
}
