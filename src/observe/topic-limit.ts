/** With more topics than this, the topics probably contain ids. */
export const MAX_TOPICS = 200
export const OTHER_TOPICS = '(others)'

/**
 * Bounds the values of a label: handlers choose topics, and may put an id into each. Topics beyond
 * the limit count as one.
 */
export function topicLimit(): (topic: string) => string {
  const known = new Set<string>()
  return (topic) => {
    if (known.has(topic)) return topic
    if (known.size >= MAX_TOPICS) return OTHER_TOPICS
    known.add(topic)
    return topic
  }
}
