// Runs before replay.js: lists the recorded events that match a search, page by page.
{
  const { at, answers } = globalThis.RECORDED
  const parsed = (path) => JSON.parse(answers[path]?.body ?? '{}')
  const events = parsed('/events').data ?? []
  const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

  const timeOf = (text) => {
    const [, count, unit] = /^(\d+)([smhd])$/.exec(text) ?? []
    return count === undefined ? Date.parse(text) : at - Number(count) * UNITS_MS[unit]
  }

  /** As the ledger groups failures: ids in an error do not count. */
  const withoutIds = (error) =>
    error
      .split('\n', 1)[0]
      .replace(/^(permanent|gave up after [0-9.]+ (attempts|hours)): /, '')
      .replace(/(?=[\w-]*\d)[\w-]{8,}/g, '#')

  const groupOf = (fingerprint) =>
    Object.keys(answers)
      .filter((path) => path.startsWith('/failures'))
      .flatMap((path) => parsed(path).data)
      .find((group) => group.fingerprint === fingerprint)

  const hasError = (reason, wanted) => {
    const group = groupOf(wanted)
    if (group) return withoutIds(reason) === withoutIds(group.error)
    return reason.toLowerCase().includes(wanted.toLowerCase())
  }

  /** One job must match all conditions on jobs. */
  const hasJob = ({ id }, { subscriber, state, error }) => {
    if (subscriber === null && state === null && error === null) return true
    return parsed(`/events/${id}`).jobs.some(
      (job) =>
        (subscriber === null || job.subscriber === subscriber) &&
        (state === null || job.state === state) &&
        (error === null || hasError(job.reason ?? '', error)),
    )
  }

  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const isType = (type, pattern) =>
    pattern.includes('*')
      ? new RegExp(`^${pattern.split('*').map(escaped).join('.*')}$`).test(type)
      : type === pattern

  const hasText = ({ id, eventKey, eventType, objectId }, text) =>
    id.startsWith(text) ||
    [eventKey, eventType, objectId ?? ''].some((part) => part.toLowerCase().includes(text.toLowerCase()))

  const CONDITIONS = {
    tenant: (event, value) => event.tenant === value,
    source: (event, value) => event.source === value,
    type: (event, value) => isType(event.eventType, value),
    key: (event, value) => event.eventKey === value,
    object: (event, value) => event.objectId === value,
    q: hasText,
    since: (event, value) => Date.parse(event.receivedAt) >= timeOf(value),
    until: (event, value) => Date.parse(event.receivedAt) < timeOf(value),
  }

  /** A page of the recorded events. A cursor is the number of events before it. */
  globalThis.RECORDED.search = (query) => {
    const [subscriber, state, error] = ['subscriber', 'state', 'error'].map((name) => query.get(name))
    const found = events.filter(
      (event) =>
        hasJob(event, { subscriber, state, error }) &&
        Object.entries(CONDITIONS).every(
          ([name, isMet]) => !query.has(name) || isMet(event, query.get(name)),
        ),
    )
    const from = Number(query.get('cursor') ?? 0)
    const to = from + Number(query.get('limit') ?? 50)
    return { data: found.slice(from, to), next: to < found.length ? String(to) : null, previous: null }
  }
}
