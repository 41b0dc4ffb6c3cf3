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
  /** Run in this process. */
  readonly here: readonly TopicPublisher[]
  /** Throws if no publisher takes this topic: its messages would wait forever, unseen. */
  require(topic: string): void
}

export function outboxPublishers(
  given: 'elsewhere' | Readonly<Record<string, Publish>> | undefined,
): OutboxPublishers {
  if (given === 'elsewhere') return { here: [], require: () => undefined }
  const patterns = Object.keys(given ?? {})
  const here = Object.entries(given ?? {}).map(([pattern, publish]) => ({
    takes: typeMatcher(pattern),
    publish,
  }))
  return {
    here,
    require(topic) {
      if (here.some(({ takes }) => takes(topic))) return
      const known =
        patterns.length === 0 ? 'no publishers are configured' : `there are: ${patterns.join(', ')}`
      throw new HookonceError('PUBLISHER_MISSING', `no publisher takes the topic "${topic}" (${known})`)
    },
  }
}
