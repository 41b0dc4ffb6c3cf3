import { canOperate } from '../../api.ts'
import { Copy } from '../../parts/copy.tsx'
import { Fact, Facts } from '../../parts/expand-table.tsx'
import { Time } from '../../parts/time.tsx'
import { href } from '../../router.ts'
import { texts } from '../../texts.ts'
import type { UnknownEffect } from './decide.tsx'
import { type Verb, verbs } from './decide.tsx'

const words = texts.attention
/** The limit on listed jobs. A longer list would not help the decision. */
const JOBS_SHOWN = 8

/** The facts about one effect, and the possible decisions. */
export function Effect({
  effect,
  onDecide,
}: {
  readonly effect: UnknownEffect
  readonly onDecide: (verb: Verb) => void
}) {
  const { call, jobs, reason, inputHash, endedAt } = effect
  return (
    <>
      <p>
        <b>{words.happened}</b> {reason}.
      </p>
      <Facts>
        <Fact name={words.facts.key}>
          <Copy text={effect.key} />
        </Fact>
        <Fact name={words.facts.downstreamKey}>
          <Copy text={effect.downstreamKey} /> <span class="muted">{words.lookUp}</span>
        </Fact>
        <Fact name={words.facts.mode}>
          <code>{effect.mode}</code> <span class="muted">{words.modes[effect.mode] ?? ''}</span>
        </Fact>
        <Fact name={words.facts.called}>
          <Time at={effect.startedAt} as="clock" />
          <span class="muted">
            , <Time at={effect.startedAt} />
            {effect.epoch > 1 && ` · ${words.epoch(effect.epoch)}`}
          </span>
        </Fact>
        {endedAt !== null && (
          <Fact name={words.facts.unknownSince}>
            <Time at={endedAt} as="clock" />
          </Fact>
        )}
        {call && (
          <Fact name={words.facts.call}>
            {call.attempt === null ? words.run : words.attempt(call.attempt)} {words.of} {call.subscriber} ·{' '}
            <a class="link" href={href(`/events/${call.receiptId}`)}>
              {call.eventType ?? call.receiptId.slice(0, 8)}
            </a>{' '}
            <code class="muted">{call.eventKey}</code>
          </Fact>
        )}
        <Fact name={words.facts.sent}>
          {inputHash === null ? (
            <span class="muted">{words.noInput}</span>
          ) : (
            <>
              <Copy text={inputHash} shown={`sha256 ${inputHash.slice(0, 16)}…`} />{' '}
              <span class="muted">{words.inputHash}</span>
            </>
          )}
        </Fact>
        <Fact name={words.facts.jobs}>
          {jobs.length === 0 ? (
            words.noJobs
          ) : (
            <span class="ids">
              {jobs.slice(0, JOBS_SHOWN).map((job) => (
                <a
                  key={`${job.receiptId} ${job.subscriber}`}
                  class="link"
                  href={href(`/events/${job.receiptId}`)}
                >
                  <code>{job.receiptId.slice(0, 8)}</code> {job.subscriber}
                </a>
              ))}
              {jobs.length > JOBS_SHOWN && <span class="muted">{words.more(jobs.length - JOBS_SHOWN)}</span>}
            </span>
          )}
        </Fact>
        {call?.error != null && !call.error.includes(reason) && (
          <Fact name={words.facts.error}>
            <pre class="mono">{call.error}</pre>
          </Fact>
        )}
      </Facts>
      {canOperate.value && (
        <ul class="verbs" aria-label={words.decide}>
          {verbs.map((verb) => {
            const { title, key, consequence } = words.verbs[verb]
            return (
              <li key={verb}>
                <button type="button" onClick={() => onDecide(verb)}>
                  {title}… <kbd>{key}</kbd>
                </button>
                <span class="muted">{consequence(jobs.length)}</span>
              </li>
            )
          })}
        </ul>
      )}
    </>
  )
}
