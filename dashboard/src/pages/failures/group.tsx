import { canOperate } from '../../api.ts'
import { formatCount } from '../../format.ts'
import { Copy } from '../../parts/copy.tsx'
import { Fact, Facts } from '../../parts/expand-table.tsx'
import { Time } from '../../parts/time.tsx'
import { href } from '../../router.ts'
import { searchOf } from '../../search/tokens.ts'
import { texts } from '../../texts.ts'
import type { FailureGroup } from './columns.tsx'
import { Where } from './columns.tsx'

const words = texts.failures

/** The search that finds the events of a group. */
function searchOfGroup({ tenant, source, subscriber, fingerprint }: FailureGroup): string {
  const filter = { source, subscriber, state: 'failed', error: fingerprint }
  return searchOf(tenant === 'default' ? filter : { tenant, ...filter })
}

/** One group of failures, with some of its events. */
export function Group({ group, onReplay }: { readonly group: FailureGroup; readonly onReplay: () => void }) {
  return (
    <>
      <pre class="block">{group.error === '' ? words.noError : group.error}</pre>
      <Facts>
        <Fact name={words.columns.where}>
          <Where {...group} />
        </Fact>
        <Fact name={words.seen}>
          {words.first} <Time at={group.firstAt} />, {words.last} <Time at={group.lastAt} />
        </Fact>
        <Fact name={words.sample}>
          <span class="ids">
            {group.receiptIds.map((id) => (
              <a key={id} class="link mono" href={href(`/events/${id}`)}>
                {id.slice(0, 8)}
              </a>
            ))}
          </span>
        </Fact>
        <Fact name={words.fingerprint}>
          <Copy text={group.fingerprint} />
        </Fact>
      </Facts>
      <div class="actions">
        {canOperate.value && (
          <button type="button" class="first" onClick={onReplay}>
            {words.replay}… <kbd>r</kbd>
          </button>
        )}
        <a class="button" href={href('/events', { q: searchOfGroup(group) })}>
          {words.events(formatCount(group.jobs), group.jobs === 1)}
        </a>
      </div>
    </>
  )
}
