import './outbox.css'
import { useState } from 'preact/hooks'
import { client, seesAllTenants } from '../../api.ts'
import { useResource } from '../../data/resource.ts'
import { formatShort } from '../../format.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { queryValue, setQuery } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Lanes } from './lanes.tsx'
import { Messages } from './messages.tsx'

const words = texts.outbox
const TABS = ['stuck', 'failed', 'waiting', 'published'] as const

/**
 * Messages that were committed with a business write: their states, and the lanes that are blocked.
 */
export default function Outbox() {
  const asked = queryValue('state')
  const tab = TABS.find((one) => one === asked) ?? 'stuck'
  const topic = queryValue('topic')
  const counts = useCounts(topic)
  return (
    <>
      <div class="head">
        <h1>{texts.pages.outbox}</h1>
        <span class="right">
          <TopicFilter topic={topic} />
        </span>
      </div>
      <div class="card">
        <Tabs
          label={words.tabsLabel}
          value={tab}
          onChange={(next) => setQuery({ state: next === 'stuck' ? '' : next, message: '' })}
          tabs={TABS.map((value) => ({ value, label: labelOf(value, counts) }))}
        >
          {tab === 'stuck' ? <Lanes topic={topic} /> : <Messages key={tab} state={tab} topic={topic} />}
        </Tabs>
      </div>
    </>
  )
}

interface Counts {
  readonly waiting: number
  readonly failed: number
}

/**
 * The number of waiting and failed messages. The status covers all tenants, so not every token may
 * read it.
 */
function useCounts(topic: string): Counts | undefined {
  const isWhole = seesAllTenants.value
  const { data } = useResource(
    async (signal) => (isWhole ? (await client.get('/status', { signal })).outbox : undefined),
    [isWhole],
    { refreshMs: 5_000 },
  )
  return data
    ?.filter((one) => topic === '' || one.topic === topic)
    .reduce((sum, { waiting, failed }) => ({ waiting: sum.waiting + waiting, failed: sum.failed + failed }), {
      waiting: 0,
      failed: 0,
    })
}

function labelOf(tab: (typeof TABS)[number], counts: Counts | undefined): string {
  const count = tab === 'waiting' || tab === 'failed' ? counts?.[tab] : undefined
  return count === undefined || count === 0
    ? words.tabs[tab]
    : words.tabCount(words.tabs[tab], formatShort(count))
}

function TopicFilter({ topic }: { readonly topic: string }) {
  const [text, setText] = useState(topic)
  const apply = (): void => setQuery({ topic: text.trim() })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        apply()
      }}
    >
      <input
        class="filter"
        name="topic"
        aria-label={words.topic}
        placeholder={words.topicHint}
        value={text}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
        onBlur={apply}
      />
    </form>
  )
}
