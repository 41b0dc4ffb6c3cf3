import { HookonceError } from '../model/errors.ts'
import { typeMatcher } from '../model/type-pattern.ts'
import type { Publish } from '../publishers/contract.ts'

/** Publishes the messages of some topics. */
export interface TopicPublisher {
  readonly takes: (topic: string) => boolean
  readonly publish: Publish
}

/** The publishers of this process, by its options. */
export interface OutboxPublishers {
  /** Publishers that run in this process. */
  readonly here: readonly TopicPublisher[]
  /**
   * Throws if no publisher accepts this topic. Otherwise its messages would wait forever,
   * unnoticed.
   */
  require(topic: string): void
}

type Given = Readonly<Record<string, Publish>>

/** Topics that only hookonce publishes to. */
interface Reserved {
  readonly isReserved: (topic: string) => boolean
  /** Finds a publisher by topic. */
  readonly publishers: Given
}

export function outboxPublishers(
  given: 'elsewhere' | Given | undefined,
  { isReserved, publishers }: Reserved,
): OutboxPublishers {
  const own = Object.entries(publishers).map(([reserved, publish]) => ({
    takes: (topic: string) => topic === reserved,
    publish,
  }))
  if (given === 'elsewhere') return { here: own, require: () => undefined }
  const patterns = Object.keys(given ?? {})
  const here = Object.entries(given ?? {}).map(([pattern, publish]) => {
    const matches = typeMatcher(pattern)
    return { takes: (topic: string) => matches(topic) && !isReserved(topic), publish }
  })
  return {
    here: [...own, ...here],
    require(topic) {
      if (here.some(({ takes }) => takes(topic))) return
      const known =
        patterns.length === 0 ? 'no publishers are configured' : `there are: ${patterns.join(', ')}`
      throw new HookonceError(
        'PUBLISHER_MISSING',
        `no publisher is configured for the topic "${topic}" (${known})`,
      )
    },
  }
}
