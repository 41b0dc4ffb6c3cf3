import './overview.css'
import { client } from '../../api.ts'
import { PAGE, useItems } from '../../data/items.ts'
import { useResource } from '../../data/resource.ts'
import { LoadMore } from '../../parts/load-more.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { queryValue, setQuery } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Needs } from './needs.tsx'
import { Sources } from './sources.tsx'
import { type Period, Traffic } from './traffic.tsx'

const words = texts.overview
const PERIODS: readonly Period[] = ['1h', '24h', '7d']
/** The counts of a process reach the ledger every ten seconds. */
const REFRESH_MS = 5_000

export default function Overview() {
  const asked = queryValue('period')
  const period = PERIODS.find((one) => one === asked) ?? '24h'
  const stats = useResource((signal) => client.get('/stats', { query: { period }, signal }), [period], {
    refreshMs: REFRESH_MS,
  })
  const sources = useItems((signal) => client.items('/sources', { query: { limit: PAGE }, signal }), [], {
    refreshMs: REFRESH_MS,
  })
  return (
    <>
      <h1 class="hidden">{texts.pages.overview}</h1>
      <h2 class="section">{words.needs}</h2>
      <Needs />
      <div class="section">
        <h2>{words.traffic}</h2>
        <span class="right">
          <Segments
            label={words.period}
            value={period}
            onChange={(next) => setQuery({ period: next === '24h' ? '' : next })}
            options={PERIODS.map((value) => ({ value, label: words.periods[value] }))}
          />
        </span>
      </div>
      {stats.data ? <Traffic stats={stats.data} /> : <Waiting {...stats} />}
      <h2 class="section">{words.sources}</h2>
      {sources.data ? <Sources sources={sources.data} stats={stats.data} /> : <Waiting {...sources} />}
      <LoadMore pages={sources} />
    </>
  )
}
