import { HookonceError } from '../model/errors.ts'
import { typeMatcher } from '../model/type-pattern.ts'
import type { Publish } from '../publishers/contract.ts'

/** Who carries on the messages of some topics. */
export interface TopicPublisher {
  readonly takes: (topic: string) => boolean
  readonly publish: Publish
}

/** Who carries messages on, as this process was told. */
export interface OutboxPublishers {
  /** Those that run in this process. */
  readonly here: readonly TopicPublisher[]
  /** Throws where nobody would carry a message of this topic on: it would wait unseen for ever. */
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
      const known = patterns.length === 0 ? 'there is none' : `there are: ${patterns.join(', ')}`
      throw new HookonceError('PUBLISHER_MISSING', `no publisher takes the topic "${topic}" (${known})`)
    },
  }
}
