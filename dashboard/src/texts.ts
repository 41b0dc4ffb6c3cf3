/* Every text that the page shows, in English. Texts with values are functions. */

const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

/** 2 processed, 1 failed */
function tally(states: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1)
  return [...counts].map(([state, count]) => `${count} ${state}`).join(', ')
}

export const texts = {
  loading: 'Loading…',
  loadMore: 'Load more',
  working: 'Working…',
  close: 'Close',
  cancel: 'Cancel',
  copy: 'Copy',
  copied: 'Copied',
  copyTitle: (text: string) => `Copy ${text}`,
  copyRefused: 'The browser refused to copy. Select the text instead.',
  skip: 'Skip to the content',
  why: 'Why?',
  whyHint: 'The audit records it, with your name and address.',
  who: (name: string, role: string, tenant: string | undefined) =>
    `${{ 'local:loopback': 'this machine', 'env:HOOKONCE_ADMIN_TOKEN': 'admin token' }[name] ?? name} · ${role}${tenant === undefined ? '' : ` of ${tenant}`}`,
  chartPart: (name: string, sum: string, most: string) => `${name}: ${sum} in all, at most ${most} at a time`,

  pages: {
    overview: 'Overview',
    events: 'Events',
    event: 'Event',
    failures: 'Failures',
    attention: 'Attention',
    rejections: 'Rejections',
    outbox: 'Outbox',
    sources: 'Sources',
    destinations: 'Destinations',
    captured: 'Captured',
    settings: 'Settings',
  },

  nav: {
    label: 'Pages',
    setUp: 'Set up',
    open: 'Open the menu',
    close: 'Close the menu',
  },

  states: {
    received: 'received',
    processing: 'processing',
    retrying: 'retrying',
    processed: 'processed',
    failed: 'failed',
    attention: 'attention',
    stale: 'stale',
    moved: 'moved',
    imported: 'imported',
    ignored: 'not wanted',
  } as Readonly<Record<string, string>>,

  theme: { label: 'Theme', light: 'Light', dark: 'Dark', system: 'Auto' },

  live: {
    pause: 'Pause the updates of lists',
    resume: 'Resume the updates of lists',
    state: {
      off: 'Not connected',
      connecting: 'Connecting…',
      streaming: 'Live',
      polling: 'Every 5 s',
      paused: 'Paused',
    },
    title: {
      off: 'Not connected to the gateway',
      connecting: 'Connecting to the stream of changes',
      streaming: 'Lists are updated at once. Click to pause.',
      polling: 'The stream is not available: lists are read every 5 seconds. Click to pause.',
      paused: 'Lists are not updated. Click to update them again.',
    },
  },

  search: {
    label: 'Search events',
    placeholder: 'Search events: key, object, type…',
    clear: 'Clear the search',
    completions: 'Completions',
    names: {
      source: 'the name of a source',
      type: 'an event type, or a family: invoice.*',
      state: 'the state of one of its jobs',
      key: 'the provider’s key of the event',
      object: 'the object that it is about',
      error: 'a part of the error',
      since: 'how long ago, or a date: 2h, 2026-01-31',
      until: 'how long ago, or a date',
      subscriber: 'a handler or destination',
      tenant: 'the owner of the source',
    } as Readonly<Record<string, string>>,
  },

  firstEvent: {
    title: 'No event yet',
    hintDev: 'Run this in a terminal. Then run it again: the event is recorded once.',
    hintServe:
      'Run this in the folder of the gateway, with the secrets of its configuration in the environment.',
    hintNone: 'Events appear here once a gateway with a source in its configuration has received them.',
  },

  replayMany: {
    title: 'Replay all that match',
    verb: (jobs: number) => (jobs === 0 ? 'Replay' : `Replay ${plural(jobs, 'job')}`),
    willRun: 'Will run again',
    willNot: 'Will not happen again',
    jobs: (jobs: number, isComplete: boolean) =>
      jobs === 0 ? 'Nothing matches.' : `${isComplete ? '' : 'more than '}${plural(jobs, 'job')}`,
    takes: (time: string) => `in about ${time}`,
    sample: '. Such as',
    effects: (count: number, ofJobs: number) =>
      `${plural(count, 'effect')} that are done (counted in ${plural(ofJobs, 'job')}).`,
    noEffects: 'Steps, effects and messages that are recorded as done. None was found in a sample.',
    name: 'Name',
    nameHint: 'For example, the incident that it repairs. If empty, the reason is the name.',
    rate: 'Jobs per second',
    rateHint: 'Over all processes, from 1 to 500.',
    started: (jobs: number) => `The replay of ${plural(jobs, 'job')} has started`,
    states: { running: 'replaying', done: 'replayed', cancelled: 'cancelled' },
    progress: (done: string, all: string) => `${done} of ${all}`,
  },

  retryNow: {
    title: 'Run waiting jobs now',
    verb: 'Run now',
    button: 'Run waiting jobs now…',
    ofEvent: 'Run now…',
    whatEvent: (type: string) => `Jobs of this ${type} that wait for their next attempt.`,
    whatAll: (search: string) => `Jobs that wait for their next attempt: ${search}`,
    willRun: 'Will run now',
    jobs: (jobs: number, isComplete: boolean) =>
      jobs === 0
        ? 'No job waits for its next attempt.'
        : `${isComplete ? '' : 'the first '}${plural(jobs, 'job')}`,
    otherwise: 'Without this, the next one runs',
    willNot: 'Will not happen again',
    willNotText: 'Steps, effects, writes and messages that are recorded as done. Attempts stay counted.',
    held: 'Will still wait',
    unattended: (subscriber: string) => `${subscriber}: no running worker serves it.`,
    paused: (name: string) => `${name} is paused.`,
    circuit: (subscriber: string, state: string) => `${subscriber}: its circuit is ${state}.`,
    notice: (jobs: number, isComplete: boolean) =>
      `${plural(jobs, 'job is', 'jobs are')} due now.${isComplete ? '' : ' There are more: press the button again.'}`,
  },

  palette: {
    open: 'Find a page or an action',
    label: 'Pages and actions',
    placeholder: 'Go to a page, do something, or search events',
    go: (page: string) => `Go to ${page}`,
    theme: 'Change the theme',
    search: (text: string) => `Search events for “${text}”`,
  },

  keys: {
    title: 'Keys',
    help: 'Show the keys of this page',
    search: 'Search events',
    down: 'Next row',
    up: 'Previous row',
    open: 'Open the row',
    select: 'Select the row',
    extend: 'Select the next row too',
    selectAll: 'Select all rows that are loaded',
    unselect: 'Select nothing',
  },

  logIn: {
    title: 'Log in',
    token: 'Token',
    verb: 'Log in',
    out: 'Log out',
    hint: 'Create a token on the machine of the gateway:',
    command: 'npx hookonce token create your-name --role operator',
  },

  errors: {
    title: 'This could not be read',
    retry: 'Try again',
    status: (status: number) => `The gateway answered ${status}.`,
    noAnswer: 'No answer from the gateway. The page tries again automatically.',
    offlineTitle: 'No answer from the gateway.',
    offline: 'This data may be out of date. The page tries again automatically.',
    unreachableTitle: (names: readonly string[]) =>
      names.length === 1
        ? `The ledger ${names[0]} cannot be read.`
        : `The ledgers ${names.join(', ')} cannot be read.`,
    unreachable: (count: number) =>
      `${count === 1 ? 'Its' : 'Their'} events and counts are missing here. The page tries again automatically.`,
    noPage: 'There is no such page',
    noPageHint: 'The address may be mistyped. The menu lists every page.',
  },

  events: {
    none: 'No event matches',
    noneHint: 'Remove a part of the search, or look further back in time.',
    end: (count: number) =>
      count === 1 ? 'This is the only one.' : `These are all ${count.toLocaleString('en')}.`,
    lookFurther: 'Look further back',
    news: 'New events',
    loaded: (count: number, hasMore: boolean) =>
      count === 0 ? '' : `${plural(count, 'event')}${hasMore ? ' loaded' : ''}`,
    selected: (count: number) => `${count.toLocaleString('en')} selected`,
    replay: 'Replay…',
    replayKey: 'Replay the selected events',
    replayAll: 'Replay all that match…',
    allThatMatch: (search: string) => `Everything that matches ${search}`,
    jsonLines: 'Save as JSON lines',
    curl: 'Copy as curl',
    curlCopied: 'Copied. Put a token into HOOKONCE_TOKEN first.',
    saved: (count: number, isCut: boolean) =>
      `Saved ${plural(count, 'event')}${isCut ? ': the first ones. For all of them, use the API.' : ''}`,
    clear: 'Clear',
    replaySelected: {
      title: (count: number) => `Replay ${plural(count, 'event')}`,
      verb: 'Replay',
      progress: (done: number, all: number) => `${done} of ${all}`,
      willRun: 'Will run again',
      willRunText: 'Every subscriber of these events whose job is finished.',
      willNot: 'Will not happen again',
      willNotText: 'Steps, effects, writes and messages that are recorded as done.',
      stay: 'Stay as they are',
      stayText: (count: number) => `${plural(count, 'event')} without a finished job.`,
      tooMany: (most: number) => `Select at most ${most}, or use “Replay all that match”.`,
      replayed: (jobs: number) => `${plural(jobs, 'job')} will run again`,
      failed: (count: number, why: string) =>
        `${plural(count, 'event was', 'events were')} not replayed: ${why}`,
    },
    columns: {
      state: 'State',
      type: 'Type',
      source: 'Source',
      key: 'Key',
      object: 'Object',
      duplicates: 'Repeats',
      received: 'Received',
    },
  },

  event: {
    receipt: 'receipt',
    curl: 'Copy as curl',
    curlCopied:
      'Copied. The signature is as it arrived: a provider that signs the time refuses it when it is old.',
    test: 'Copy as a test',
    testCopied: 'Copied. Paste it into a test file and name the module of your hooks in its import.',
    back: 'Back to the list',
    timeline: 'Timeline',
    deliveries: 'Deliveries',
    from: (source: string) => `from ${source}`,
    recorded: 'recorded',
    firstRepeat: 'first duplicate',
    repeats: (count: number) => (count === 1 ? 'duplicate' : `last of ${plural(count, 'duplicate')}`),
    matches: (secret: number) => `signature matches secret ${secret}`,
    reconciled: 'read from the provider’s list; no delivery arrived',
    imported: 'imported: another system had processed it',
    sameBody: (mismatches: number) =>
      mismatches === 0 ? 'no harm done' : `${mismatches} with another body: the first one is kept`,
    noJobs: 'No subscriber wanted this event. It is recorded, and nothing runs.',
    onlyFirst: 'Of the first delivery. Repeats are counted; their headers are not stored.',
    stack: 'Where it was thrown',
    attempt: (number: string) => `Attempt ${number}`,
    attemptOf: (number: number, subscriber: string) => `Attempt ${number} of ${subscriber}`,
    jobState: ({
      state,
      outcome,
      attempt,
    }: Readonly<Record<'state' | 'outcome', string>> & { readonly attempt: number }) => {
      const runs = plural(attempt, 'attempt')
      if (outcome === 'stale' || outcome === 'moved') return outcome
      if (state === 'processed') return `processed in ${runs}`
      if (state === 'failed') return `failed after ${runs}`
      if (state === 'retrying') return `retrying after ${runs}`
      return state === 'attention' ? 'waits for a decision' : state
    },
    kinds: { delivery: 'delivery', step: 'step', effect: 'effect', message: 'message' },
    notes: (kind: string, state: string) => {
      if (kind === 'step') return 'done, committed'
      if (kind === 'attempt')
        return (
          {
            processing: 'runs now',
            returned: 'handed back, its process stopped',
            attention: 'stopped for a decision',
          }[state] ?? ''
        )
      const effect = {
        started: 'called, outcome open',
        done: 'done',
        again: 'same key, done',
        unknown: 'called, outcome unknown',
      }
      const message = { waiting: 'waits to be published', published: 'published' }
      return { ...effect, ...message }[state] ?? state
    },
    waited: {
      queued: (time: string) => `waited ${time} for a worker`,
      retry: (time: string) => `waited ${time} for the next attempt`,
    },
    nextAttempt: 'next attempt',
    heldByPause: 'waits: its source or subscriber is paused',
    heldByCircuit: (state: string) => `waits: its circuit is ${state === 'open' ? 'open' : 'probing'}`,
    nextProbe: ', next probe',
    waitsForOrder: 'waits for an earlier event with its order key',
    facts: {
      received: 'Received',
      deliveries: 'Deliveries',
      repeats: (count: number, mismatches: number) => {
        if (count < 2) return ''
        return `· ${plural(count - 1, 'duplicate')}, ${mismatches === 0 ? 'no harm done' : `${mismatches} with another body`}`
      },
      took: 'Done after',
      notYet: 'not yet',
      nothingRuns: 'nothing runs',
      subscribers: 'Subscribers',
      states: (states: readonly string[]) => tally(states) || 'none',
      effects: 'Effects',
      effectStates: (states: readonly string[]) => {
        if (states.length === 0) return 'none'
        return states.every((state) => state === 'done') ? `${states.length} done, each once` : tally(states)
      },
    },
    details: 'Details',
    tabs: {
      body: 'Body',
      headers: 'Headers',
      signature: 'Signature',
      attempts: 'Attempts',
      effects: 'Effects',
      decisions: 'Audit',
    },
    bodyGone:
      'The body is past its retention, so the event can be neither replayed nor copied. Its hash stays.',
    bodyDenied: 'Your token may not read bodies. Create a token with `bodies` to see them.',
    bodyAudit: 'Each view of a body is recorded in the audit.',
    showBody: (size: string) => `Show the body (${size})`,
    raw: 'Raw',
    tree: 'Tree',
    download: 'Download',
    binary: 'The body is not text. Download it to look at it.',
    cut: 'This is the beginning. Download the body to see the rest.',
    toggle: 'Open or close',
    parts: (count: number) => plural(count, 'entry', 'entries'),
    moreParts: (count: number) => `${plural(count, 'more entry', 'more entries')}`,
    moreText: (count: number) => `${plural(count, 'more character')}`,
    headersGone: 'The headers are past their retention.',
    headersDenied: 'Your token may not read headers. Create a token with “bodies” to see them.',
    signatureGood: (secret: number) => `matches secret ${secret}`,
    signatureHint: (source: string, secret: number) =>
      `The signature was checked once, when the delivery arrived. It matched secret ${secret} of ${source}, counted from 1 in the configuration.`,
    notSigned: 'no signature was checked',
    importedPayload:
      'An import takes over keys only: neither the body nor the headers of the event are here.',
    importedHint: 'Another system processed this event before hookonce took over. Nothing runs here.',
    notSignedHint:
      'The API of the provider listed this event, over TLS, which proves the identity of the provider.',
    bodyHash: 'SHA-256 of the body',
    occurred: 'Occurred',
    running: 'runs now',
    took: (time: string) => `took ${time}`,
    modes: {
      tx: 'tx: committed once, with the business write',
      keyed: 'keyed: one effect, as long as the other service honours the key',
      atMostOnce: 'atMostOnce: called once or not at all',
      atLeastOnce: 'atLeastOnce: may be called again',
    } as Readonly<Record<string, string>>,
    downstreamKey: 'Key it was called with',
    epoch: 'Epoch',
    result: 'Result',
    actions: {
      replay: 'Replayed',
      'replay-fresh': 'Replayed, with everything done again',
      'retry-now': 'Ran waiting jobs now',
      'read-body': 'Read the body',
      'read-headers': 'Read the headers and results',
      'confirm-done': 'Confirmed that the call happened',
      'confirm-not-done': 'Confirmed that the call did not happen',
      'retry-same-key': 'Called again with the same key',
      abandon: 'Failed the waiting jobs',
    } as Readonly<Record<string, string>>,
    by: (actor: string, address: string | null) =>
      address === null ? `by ${actor}` : `by ${actor}, from ${address}`,
    replay: {
      key: 'Replay the event',
      verb: 'Replay',
      verbFresh: 'Replay, and repeat all of it',
      title: (type: string) => `Replay ${type}`,
      subscriber: 'Subscriber',
      all: 'All of them',
      willRun: 'Will run again',
      willNot: 'Will not happen again: it is recorded as done',
      willRepeat: 'Will happen a second time',
      nothing: 'Nothing.',
      careful: 'Nothing is recorded as done',
      nothingDone:
        'The whole handler runs again. Only a handler that uses ctx.effect, ctx.step or a transaction skips finished work.',
      stays: (subscriber: string) => `${subscriber} stays as it is`,
      staysWhy: (state: string | null) =>
        state === null
          ? 'It does not want this event.'
          : `Its job is ${state}: only finished jobs are replayed.`,
      unattended: (subscriber: string) => `${subscriber} will wait`,
      unattendedHint: 'No running worker serves it.',
      fresh: 'Also repeat finished work.',
      freshHint: 'Mails, charges and writes happen a second time, with new keys.',
      replayed: (jobs: number) => `${plural(jobs, 'job')} will run again`,
      step: (name: string) => `step ${name}`,
      effect: (key: string) => `effect ${key}`,
      message: (topic: string) => `message ${topic}`,
      ifYou: 'If you replay this event,',
      foresight: (subscribers: readonly string[], done: number) => {
        if (subscribers.length === 0) return 'nothing runs: no job of it is finished.'
        const who =
          subscribers.length === 1 ? `${subscribers[0]} runs` : `${subscribers.length} subscribers run`
        if (done === 0) return `${who} again, from the beginning.`
        return `${who} again. Finished work (${done}) is not repeated.`
      },
    },
  },

  overview: {
    needs: 'Needs you',
    nothing: 'Nothing needs you. Every event is processed, or on its way.',
    decide: 'Decide',
    planReplay: 'Plan a replay',
    fix: 'Fix',
    look: 'Look',
    more: (count: number, isLeast: boolean) => `and ${count}${isLeast ? ' or more' : ' more'}`,
    effectUnknown: 'was called, and no reply came back.',
    jobsWait: (jobs: number) => `${plural(jobs, 'job waits', 'jobs wait')}`,
    eventsOf: (jobs: number) => plural(jobs, 'job'),
    of: 'of',
    failed: 'failed:',
    refused: (count: number) => `refused ${plural(count, 'delivery', 'deliveries')}:`,
    circuitOpen: 'gets nothing: its circuit is open.',
    unserved: 'is not served by any running worker.',
    labels: {
      attention: 'attention',
      failures: 'failures',
      signature: 'rejected',
      circuit: 'circuit',
      unattended: 'unattended',
      silence: 'silent',
      lag: 'slow',
      retries: 'retries',
      duplicates: 'duplicates',
    } as Readonly<Record<string, string>>,
    traffic: 'Traffic',
    period: 'Period',
    periods: { '1h': '1 h', '24h': '24 h', '7d': '7 d' },
    chart: 'Deliveries and jobs over time',
    series: {
      received: 'received',
      duplicate: 'duplicate',
      rejected: 'rejected',
      processed: 'processed',
      failed: 'failed',
    },
    stats: {
      received: 'Received',
      duplicates: 'Duplicates, no harm',
      spared: 'Effects not repeated',
      sparedHint: 'mails, charges, calls',
      failed: 'Failed',
      accept: 'Acknowledged, p99',
      p50: (value: string) => `p50 ${value}`,
      oldest: 'Oldest due',
      workers: (count: number) => plural(count, 'worker'),
      processed: (count: string) => `${count} processed`,
      perSecond: (rate: string) => `${rate} /s`,
      perMinute: (rate: string) => `${rate} per minute`,
      perHour: (rate: string) => `${rate} per hour`,
      noMeasure: 'no delivery yet',
      andRejected: (rate: string, rejected: number) =>
        rejected === 0 ? rate : `${rate} · ${rejected.toLocaleString('en')} rejected`,
    },
    sources: 'Sources',
    columns: {
      source: 'Source',
      trend: 'Trend',
      received: 'Received',
      processed: 'Processed',
      duplicate: 'Duplicate',
      rejected: 'Rejected',
      failed: 'Failed',
      lag: 'Oldest due',
      p50: 'p50',
      p99: 'p99',
      last: 'Last event',
    },
    lagTitle: 'Age of the oldest job that is due now',
    latencyTitle: 'Time until deliveries were acknowledged: at most this',
    health: { paused: 'paused', failing: 'failing', unattended: 'not served' },
  },

  failures: {
    period: 'Failed in the last',
    periods: { '24h': '24 h', '7d': '7 d', all: 'All' },
    sum: (jobs: number, groups: number) =>
      `${plural(jobs, 'job')} with ${plural(groups, 'error', 'different errors')}`,
    none: 'No job has failed',
    noneLately: 'No job failed in this time',
    noneHint:
      'A job fails when its attempts are used up, or its handler throws Permanent. Jobs with the same error are grouped here. The command line shows the same:',
    noneCommand: 'npx hookonce failures',
    andMore: ', and more',
    moreGroups:
      'There are more groups: these are the largest and the latest. Replay some of them, and the others appear.',
    olderFailures: 'Older failures of this time are not counted: choose a shorter time, or All.',
    noError: '(no error text)',
    columns: {
      jobs: 'Jobs',
      error: 'Error',
      where: 'Source → subscriber',
      trend: 'Over time',
      first: 'First',
      last: 'Last',
    },
    seen: 'Seen',
    first: 'first',
    last: 'last',
    sample: 'Latest events',
    fingerprint: 'Fingerprint',
    replay: 'Replay this group',
    events: (count: string, isOne: boolean) => (isOne ? 'Show the event' : `Show all ${count} events`),
    what: (subscriber: string, error: string) => `Failed jobs of ${subscriber}: ${error}`,
    replays: {
      running: 'Replays in progress',
      ended: 'Past replays',
      runs: 'replaying',
      progress: (done: string, all: string) => `${done} of ${all} jobs`,
      rate: (rate: string, limit: number) => `${rate} per second, at most ${limit}`,
      left: (time: string) => `${time} left`,
      standing: 'stalled: start a process with workers to continue it',
      cancel: 'Cancel the replay',
      cancelTitle: (name: string) => `Cancel “${name}”`,
      stay: (jobs: number) => `${plural(jobs, 'job was', 'jobs were')} replayed; this is not undone`,
      stayHint: 'Cancelling does not undo replayed jobs.',
      stop: (jobs: number) => `${plural(jobs, 'job stays', 'jobs stay')} failed`,
      stopHint: 'Replay the group again for the rest.',
      done: (jobs: number, time: string) => `${plural(jobs, 'job was', 'jobs were')} replayed in ${time}.`,
      doneExcept: (jobs: number, time: string, missed: number) =>
        `${plural(jobs, 'job was', 'jobs were')} replayed in ${time}; ${plural(missed, 'job was', 'jobs were')} skipped: no longer failed, or the body is past its retention.`,
      cancelled: (jobs: number, left: number) =>
        `Cancelled after ${plural(jobs, 'job')}; the other ${plural(left, 'job')} stayed as they were.`,
      states: { running: 'running', done: 'done', cancelled: 'cancelled' },
      columns: { state: 'State', name: 'Replay', result: 'Result', actor: 'By', ended: 'Ended' },
      facts: {
        jobs: 'Jobs',
        rate: 'Rate',
        atMost: (rate: number) => `at most ${rate} per second`,
        why: 'Why',
        started: 'Started',
      },
      filters: { typeLike: 'type', since: 'failed since', until: 'failed until' } as Readonly<
        Record<string, string>
      >,
    },
  },

  attention: {
    intro:
      'These effects were called, and it is unknown whether they happened. Check each in the called service, then decide.',
    none: 'Nothing waits for you',
    noneHint:
      'An effect appears here if it was called, no reply was recorded, and hookonce may not call it again. Its jobs wait until you decide. The command line shows the same:',
    noneCommand: 'npx hookonce attention list',
    abandoned: 'abandoned',
    columns: {
      effect: 'Effect',
      mode: 'Mode',
      where: 'Source → subscriber',
      jobs: 'Jobs waiting',
      called: 'Called',
    },
    happened: 'What happened:',
    facts: {
      key: 'Effect key',
      downstreamKey: 'Idempotency key',
      mode: 'Mode',
      called: 'Called',
      unknownSince: 'Unknown since',
      call: 'Called by',
      sent: 'What was sent',
      jobs: 'Waiting jobs',
      error: 'Error',
    },
    lookUp: 'The called service received this key: search for the call by it.',
    modes: {
      keyed: 'The key is too old for a second call: the other service may have forgotten it.',
      atMostOnce: 'hookonce never calls it twice.',
      atLeastOnce: 'It may be called twice.',
      tx: 'It was written in one transaction.',
    } as Readonly<Record<string, string>>,
    epoch: (epoch: number) => `call number ${epoch}`,
    attempt: (attempt: number) => `attempt ${attempt}`,
    run: 'a run',
    of: 'of',
    noInput: 'Its handler declared no input. The body of the event shows what it worked from.',
    inputHash: 'The hash of the declared input. The input itself is not stored.',
    noJobs: 'None: they were abandoned. The effect stays here until you decide.',
    more: (jobs: number) => `and ${plural(jobs, 'more', 'more')}`,
    decide: 'Decisions',
    result: 'Its result, as JSON',
    resultHint: 'The handlers get it as the result of the call. Empty: they get undefined.',
    resultWrong: 'This is not JSON. A text needs quotes: "msg_123".',
    verbs: {
      'confirm-done': {
        title: 'It happened',
        key: 'd',
        consequence: (jobs: number) =>
          `It is not called again. ${jobs === 0 ? 'Later jobs with this key get its result.' : `${plural(jobs, 'waiting job continues', 'waiting jobs continue')} with its result.`}`,
        risk: 'If it did not happen after all, it never will.',
        notice: (key: string, jobs: number) =>
          `${key} is recorded as done. ${plural(jobs, 'job continues', 'jobs continue')}.`,
      },
      'confirm-not-done': {
        title: 'It did not happen',
        key: 'n',
        consequence: (jobs: number) =>
          `It is called again, with a new key${jobs === 0 ? ', when a job requests it' : `: ${plural(jobs, 'waiting job continues', 'waiting jobs continue')}`}.`,
        risk: 'If it did happen after all, it happens twice: a new key is a new call for the other service.',
        notice: (key: string, jobs: number) =>
          `${key} is called again with a new key. ${plural(jobs, 'job continues', 'jobs continue')}.`,
      },
      'retry-same-key': {
        title: 'Call it with the same key',
        key: 's',
        consequence: (jobs: number) =>
          `It is called again, with the key of the first call${jobs === 0 ? ', when a job requests it' : `: ${plural(jobs, 'waiting job continues', 'waiting jobs continue')}`}.`,
        risk: 'Safe only while the other service still honours this key. Otherwise it may happen twice.',
        notice: (key: string, jobs: number) =>
          `${key} is called again with the same key. ${plural(jobs, 'job continues', 'jobs continue')}.`,
      },
      abandon: {
        title: 'Give up its jobs',
        key: 'a',
        consequence: (jobs: number) =>
          jobs === 0
            ? 'Nothing changes: no job waits for it.'
            : `Nothing is called. ${plural(jobs, 'waiting job fails', 'waiting jobs fail')}, and the effect stays unknown.`,
        risk: 'The effect stays in this list until you decide whether it happened. Its failed jobs can be replayed.',
        notice: (key: string, jobs: number) =>
          `${plural(jobs, 'job', 'jobs')} of ${key} failed. The effect stays unknown.`,
      },
    },
  },

  rejections: {
    intro: 'Deliveries that were refused, by source and reason. They are not stored.',
    none: 'No delivery was refused',
    noneHint:
      'A delivery is refused if its signature is wrong, missing or too old, or if it is too large. It then appears here with a diagnosis.',
    noneCommandHint: 'To check a delivery that you have in two files, run this in the folder of the gateway:',
    unknown: 'no such source',
    columns: { source: 'Source', why: 'Why', code: 'Code', count: 'Refused', last: 'Last' },
    what: 'What was wrong',
    change: 'What to change',
    facts: { code: 'Code', header: 'Header', last: 'Last case', count: 'Refused' },
    times: (shown: string, count: number) => `${shown} ${count === 1 ? 'time' : 'times'}`,
    first: 'first',
    lastSeen: 'last',
    verify:
      'To check a fix before the next delivery, store the headers and the body of a refused one in two files. The provider’s log of deliveries has them. Then run this in the folder of the gateway, with the secrets of its configuration in the environment:',
  },

  outbox: {
    tabsLabel: 'Messages by state',
    tabs: { stuck: 'Stuck', failed: 'Failed', waiting: 'Waiting', published: 'Published' },
    tabCount: (name: string, count: string) => `${name} ${count}`,
    topic: 'Topic',
    topicHint: 'All topics',
    noLanes: 'No lane is stuck',
    noLanesHint:
      'Messages of one topic and key are published one after the other. If the first is refused, the others wait behind it, and the lane appears here with the reason. The command line lists messages that wait or failed:',
    noLanesCommand: 'npx hookonce outbox',
    none: {
      failed: 'No message has failed',
      waiting: 'No message waits',
      published: 'No message was published yet',
    },
    noneHint: {
      failed:
        'A message fails when its attempts are used up. It stays here until you publish it again. The command line shows the same:',
      waiting:
        'Messages that tx.publish committed are published within milliseconds. The command line shows the same:',
      published:
        'Messages that a handler commits with tx.publish appear here. Published ones are kept for a while. The command line shows the same:',
    },
    noneCommand: 'npx hookonce outbox',
    states: { waiting: 'waiting', retrying: 'retrying', published: 'published', failed: 'failed' },
    columns: {
      lane: 'Topic and key',
      state: 'State',
      topic: 'Topic',
      key: 'Key',
      id: 'Id',
      reason: 'Reason',
      waiting: 'Waiting',
      attempts: 'Attempts',
      next: 'Next try',
      at: { failed: 'Failed', waiting: 'Committed', published: 'Published' },
    },
    now: 'now',
    refused: (attempts: number) =>
      attempts === 0 ? 'Its relay stopped.' : `The first message was refused ${plural(attempts, 'time')}.`,
    trying: 'A relay is trying it.',
    next: 'It is tried again',
    due: 'It is due now: the next free relay tries it.',
    overdue: (time: string) =>
      `It has been due for ${time}, so no relay serves this topic. Start a process that publishes it.`,
    behind: (messages: number) =>
      messages === 0
        ? 'No other message waits behind it.'
        : `${plural(messages, 'message waits', 'messages wait')} behind it.`,
    noReason: 'no reason was recorded',
    laneHint:
      'Fix the publisher or its target: the lane then continues automatically. After the last attempt the first message fails, and the next one is tried.',
    facts: {
      topic: 'Topic',
      key: 'Key',
      message: 'Message',
      event: 'Event',
      crashes: 'Relays that died',
      since: 'Committed',
      created: 'Committed',
      finished: { failed: 'Failed', published: 'Published' },
    },
    crashes: (count: number) => `${plural(count, 'relay')} died while publishing it`,
    waitsBehind: 'It waits behind an earlier message of its key.',
    payload: 'Show the payload',
    payloadHint: 'The audit records each view of a payload.',
    tryNow: {
      verb: 'Try now',
      button: 'Try now…',
      title: (topic: string) => `Try the lane of ${topic} now`,
      will: 'Will happen now',
      willHint: 'A relay publishes the first message of this lane. If it succeeds, the others follow.',
      willNot: 'Will not change',
      willNotHint: 'The order of the messages, and the attempts that were counted.',
      notice: 'The lane is due now.',
      notYet: 'A relay is already trying it, or it was published. Nothing changed.',
    },
    publishAgain: 'Publish again',
    publishAll: 'Publish all failed again',
    failedHint: 'These messages failed for good. They are not tried until you publish them again.',
    again: {
      title: (topic: string) => `Publish again: ${topic}`,
      titleAll: (topic: string) =>
        topic === '' ? 'Publish the failed messages again' : `Publish the failed messages of ${topic} again`,
      verb: 'Publish again',
      all: (count: number, hasMore: boolean) =>
        hasMore
          ? `More than ${plural(count, 'message is', 'messages are')} published again`
          : `${plural(count, 'message is', 'messages are')} published again`,
      allHint: 'At most 1,000 at once, the oldest first. Attempts count from zero.',
      sameId: 'The id stays the same',
      sameIdHint: 'Consumers that got the message before can recognise it:',
      sameIdAllHint: 'Consumers that got a message before can recognise it.',
      behind: (key: string) => `It waits behind the other messages of ${key}`,
      behindHint: 'Later messages that are already published cannot be taken back: it comes after them.',
      alone: 'It is published at once',
      aloneHint: 'It has no key, so it waits for no other message.',
      twice: 'It was published before',
      twiceHint: 'Consumers that do not check the id handle it twice.',
      nothingElse: 'Nothing else runs',
      nothingElseHint: 'No handler and no effect runs again.',
      notice: (topic: string) => `The message to ${topic} waits to be published.`,
      notYet: 'It is neither published nor failed yet, so nothing was changed.',
      toldAll: (count: number, isComplete: boolean) =>
        `${plural(count, 'message waits', 'messages wait')} to be published.${isComplete ? '' : ' There are more: press the button again.'}`,
    },
  },

  pause: {
    verbs: { pause: 'Pause', resume: 'Resume' },
    title: (verb: 'pause' | 'resume', name: string) => `${verb === 'pause' ? 'Pause' : 'Resume'} ${name}`,
    done: (verb: 'pause' | 'resume', name: string) =>
      `${name} is ${verb === 'pause' ? 'paused' : 'resumed'}.`,
    will: 'What will happen',
    willNot: 'What will not',
    willPause: 'No further job of it starts. Running jobs end as usual.',
    willResume: 'Jobs that waited start now, the oldest first.',
    willNotPause: 'No delivery is lost: events are verified, recorded and acknowledged as before.',
    willNotResume: 'Nothing runs twice: jobs that have ended stay as they are.',
  },

  probe: {
    verb: 'Probe now',
    of: (name: string) => `of ${name}`,
    title: (name: string) => `Probe ${name} now`,
    will: 'What will happen',
    willText:
      'The next waiting job runs now, as a probe. If probes succeed, the circuit closes and the other jobs follow. If this one fails, the circuit stays open.',
    willNot: 'What will not',
    willNotText: 'No other job runs before the circuit closes. Jobs that have ended stay as they are.',
    notice: (name: string) => `The next job of ${name} runs as a probe.`,
    notYet: 'A probe was due already. Nothing changed.',
  },

  waitingJobs: {
    verbs: { move: 'Move', discard: 'Discard' },
    of: (name: string) => `the jobs of ${name}`,
    title: (verb: 'move' | 'discard', name: string) =>
      `${verb === 'move' ? 'Move' : 'Discard'} the jobs of ${name}`,
    what: (name: string, source: string) =>
      `Jobs of ${name} that wait for events of ${source}. No running worker serves it: it was renamed or removed, or its process is down.`,
    to: 'Subscriber that gets them',
    begun: 'Also move jobs that have run before.',
    begunHint:
      'Recorded steps and effects are not repeated. A step that was in progress is called again, with another key.',
    will: 'What will happen',
    willMove: (jobs: number, to: string) =>
      jobs === 0
        ? `${to} gets no job.`
        : `${to} gets ${plural(jobs, 'job')}, and runs ${jobs === 1 ? 'it' : 'them'}.`,
    willDiscard: (jobs: number) =>
      `${plural(jobs, 'job fails', 'jobs fail')} without a run. While the body is kept, they can be replayed.`,
    types: (types: readonly string[]) => `Types: ${types.join(', ')}`,
    willNot: 'What will not',
    willNotMove: 'No recorded step or effect is repeated.',
    willNotDiscard: 'No handler runs, and no event is deleted.',
    stay: 'Stay where they are',
    unwanted: (jobs: string, type: string, to: string) =>
      `${jobs} of ${type}: ${to} does not want this type.`,
    stayBegun: (jobs: number) => `${plural(jobs, 'job')} that ran before.`,
    notice: (jobs: number, to: string | undefined) =>
      to === undefined
        ? `${plural(jobs, 'job is', 'jobs are')} discarded.`
        : `${plural(jobs, 'job was', 'jobs were')} moved to ${to}.`,
  },

  sources: {
    title: 'Sources',
    columns: {
      source: 'Source',
      waiting: 'Waiting',
      retrying: 'Retrying',
      failed: 'Failed',
      attention: 'Attention',
      lag: 'Oldest due',
      secret: 'Secret',
      last: 'Last event',
      act: 'Actions',
    },
    health: { ok: 'ok', paused: 'paused', failing: 'failing', unattended: 'no worker' },
    secret: (position: number) => `no. ${position}`,
    secretTitle: 'Which of its secrets the newest events were signed with',
    notLately: 'not lately',
    notLatelyTitle: 'No delivery arrived for about a week.',
    pauseHint: 'A pause holds every subscriber of this source.',
    empty: 'No source yet',
    emptyHint: 'Give hookonce the secret of a provider, or write a configuration:',
    emptyCommand: 'STRIPE_WEBHOOK_SECRET=whsec_… npx hookonce dev',
    test: {
      verb: 'Send a test event',
      short: 'Test',
      title: (source: string) => `Send a test event to ${source}`,
      will: 'What will happen',
      willText:
        'The gateway signs a sample event with the first secret of this source, and sends it to its own listener. From there on it is an event like any other: recorded, processed, forwarded.',
      type: 'Type',
      typeHint: 'Empty: the usual type of this provider.',
      sent: (type: string, status: number) => `${type} was answered ${status}.`,
      open: 'Open it',
    },
    catalogue: 'Catalogue',
    search: 'Search the catalogue',
    searchHint: 'Name, category or signature',
    count: (shown: number, all: number) => (shown === all ? plural(all, 'provider') : `${shown} of ${all}`),
    more: (count: number) => `${count} more. Search to see them.`,
    noProvider: 'No provider matches',
    noProviderHint: 'Any other sender can be described in the configuration, with “provider: custom”.',
    providerColumns: {
      name: 'Provider',
      category: 'Category',
      signature: 'Signature',
      retries: 'Retries for',
      line: 'Configuration',
    },
  },

  destinations: {
    title: 'Destinations',
    columns: {
      name: 'Destination',
      url: 'URL',
      gets: 'Gets',
      waiting: 'Waiting',
      circuit: 'Circuit',
      rate: 'Rate',
      act: 'Actions',
    },
    circuit: { closed: 'closed', open: 'open', 'half-open': 'probing' },
    noCircuit: 'none',
    noRate: 'no limit',
    rate: (perSecond: number) => `${perSecond} /s`,
    probe: 'next probe',
    unserved: 'no worker',
    pausedFor: (sources: string) => `paused for ${sources}`,
    everything: 'everything',
    pauseHint: (sources: string) => `This destination gets events of ${sources}. Each is paused.`,
    subscribers: 'Subscribers',
    subscriberHint: 'Everything that has jobs in this ledger: destinations, and handlers of the library.',
    subscriberColumns: {
      subscriber: 'Subscriber',
      source: 'Source',
      pattern: 'Types',
      waiting: 'Waiting',
      circuit: 'Circuit',
      state: 'State',
      act: 'Actions',
    },
    states: { paused: 'paused', served: 'served', unserved: 'no worker' },
    empty: 'No destination',
    emptyHint: 'Name one in the configuration, or begin with:',
    emptyCommand: 'npx hookonce dev --forward-to http://localhost:3000/webhooks',
    noSubscriber: 'No subscriber has been registered in this ledger yet.',
  },

  captured: {
    title: 'Captured requests',
    hint: 'Requests to sources that are not configured. They are kept in memory only, and were answered with 404.',
    columns: { at: 'Time', request: 'Request', looksLike: 'Looks like', size: 'Body', took: 'Took' },
    unknown: 'unknown',
    configure: 'What to configure',
    headers: 'Headers',
    body: 'Body',
    noBody: 'The body is empty.',
    isCut: 'Only its beginning is kept.',
    notText: 'The body is not text.',
    download: 'Download the body',
    locked: 'Your token may not read headers and bodies.',
    empty: 'Nothing was captured',
    emptyHint: 'A request to any path without a source is kept here. Try one:',
    emptyCommand: (deliveryUrl: string) => `curl ${deliveryUrl}/in/anything -d '{}'`,
    onlyDev: 'This gateway keeps no requests',
    onlyDevHint:
      'Only hookonce dev keeps requests to sources that are not configured. Here, the page Rejections counts them.',
    onlyAll: 'Captured requests are shown to those who see all tenants.',
    gone: 'This request is no longer kept.',
  },

  settings: {
    title: 'Settings',
    tabs: { tokens: 'Tokens', audit: 'Audit', alerts: 'Alerts', workers: 'Workers' },
    tokens: {
      make: 'Make a token',
      columns: {
        name: 'Name',
        role: 'Role',
        tenant: 'Tenant',
        bodies: 'Bodies',
        used: 'Used',
        expires: 'Expires',
        act: 'Actions',
      },
      roles: {
        viewer: 'Sees lists and states. No bodies unless allowed.',
        operator: 'Also replays, decides, pauses and resumes.',
        admin: 'Also makes and revokes tokens.',
      },
      name: 'Name',
      nameHint: 'Who or what uses it. The audit shows it.',
      role: 'Role',
      tenant: 'Tenant',
      tenantHint: 'Empty: it sees every tenant.',
      bodies: 'May read bodies, headers and payloads',
      days: 'Expires after',
      never: 'never',
      inDays: (days: number) => plural(days, 'day'),
      made: 'The token',
      madeHint: 'Copy it now. It is not stored, and will not be shown again.',
      done: 'Done',
      revoke: 'Revoke',
      revokeTitle: (name: string) => `Revoke ${name}`,
      will: 'What will happen',
      revokeWill: 'Requests with this token are refused at once, and its browser sessions end.',
      willNot: 'What will not',
      revokeWillNot: 'Its past actions stay in the audit.',
      revoked: (name: string) => `${name} is revoked.`,
      all: 'all tenants',
      yes: 'yes',
      no: 'no',
      unused: 'never',
      empty: 'No token yet',
      emptyHint:
        'Make one for each person and each program that uses this gateway, with the least role that is enough.',
      onlyAdmins: 'Tokens are for admins who see all tenants.',
    },
    audit: {
      columns: { at: 'Time', actor: 'Who', action: 'What', subject: 'On what', why: 'Why', address: 'From' },
      empty: 'Nobody has changed anything yet',
      emptyHint:
        'Replays, decisions, pauses and tokens appear here, with the person, the reason and the address.',
      local: 'this machine',
      end: 'This is the beginning of the audit.',
    },
    alerts: {
      columns: { rule: 'Rule', about: 'About', says: 'What is wrong', opened: 'Open since', act: 'Actions' },
      acknowledge: 'Acknowledge',
      title: (rule: string, about: string) => `Acknowledge ${rule} of ${about}`,
      will: 'What will happen',
      willText: 'Others see that you are handling it. With a mute, no further message is sent for that long.',
      willNot: 'What will not',
      willNotText: 'The alert stays open until the problem ends.',
      mute: 'Mute',
      notMuted: 'no',
      mutes: { '3600': '1 hour', '14400': '4 hours', '86400': '1 day' } as Readonly<Record<string, string>>,
      done: 'You are handling this alert.',
      by: (name: string) => `${name} is handling it`,
      empty: 'No alert is open',
      emptyHint: 'Rules watch failures, lag, duplicates, signatures, circuits and silence.',
    },
    workers: {
      columns: { host: 'Process', started: 'Started', jobs: 'Jobs now', lease: 'Lease ends' },
      empty: 'No worker is alive',
      emptyHint: 'Deliveries are recorded, but nothing is processed. Start one:',
      emptyCommand: 'npx hookonce serve',
      onlyAll: 'Workers are shown to those who see all tenants.',
    },
  },
} as const
