import { useState } from 'preact/hooks'
import { canReadBodies } from '../../api.ts'
import { useResource } from '../../data/resource.ts'
import { formatDuration } from '../../format.ts'
import { Copy } from '../../parts/copy.tsx'
import { Failure, Skeleton } from '../../parts/feedback.tsx'
import { State } from '../../parts/state.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Time } from '../../parts/time.tsx'
import { texts } from '../../texts.ts'
import { Body } from './body.tsx'
import { parseJson } from './json-text.ts'
import { JsonTree } from './json-tree.tsx'
import { readPayloads } from './payloads.ts'
import type { Chain } from './timeline.ts'

const words = texts.event
type Tab = keyof typeof words.tabs

export function Details({ chain }: { readonly chain: Chain }) {
  const [tab, setTab] = useState<Tab>('body')
  const { receipt, attempts, effects, decisions, imported } = chain
  const counts: Partial<Record<Tab, number>> = {
    attempts: attempts.length,
    effects: effects.length,
    decisions: decisions.length,
  }
  const names = (Object.keys(words.tabs) as Tab[]).filter((name) => counts[name] !== 0)
  const shown = names.includes(tab) ? tab : 'body'
  return (
    <Tabs
      label={words.details}
      value={shown}
      onChange={setTab}
      tabs={names.map((value) => ({ value, label: words.tabs[value] }))}
    >
      {shown === 'body' && !imported && <Body receipt={receipt} />}
      {shown === 'headers' && !imported && <Headers chain={chain} />}
      {(shown === 'body' || shown === 'headers') && imported && (
        <p class="panel-note">{words.importedPayload}</p>
      )}
      {shown === 'signature' && <Signature chain={chain} />}
      {shown === 'attempts' && <Attempts attempts={attempts} />}
      {shown === 'effects' && <Effects id={receipt.id} effects={effects} />}
      {shown === 'decisions' && <Decisions decisions={decisions} />}
    </Tabs>
  )
}

function Headers({ chain }: { readonly chain: Chain }) {
  if (!canReadBodies.value) return <p class="panel-note">{words.headersDenied}</p>
  return (
    <>
      {isRepeated(chain) && <p class="panel-note">{words.onlyFirst}</p>}
      <ShownHeaders id={chain.receipt.id} />
    </>
  )
}

/** Of further deliveries, the ledger holds only their number, and whether their bodies differed. */
function isRepeated({ deliveries, reconciled, imported }: Chain): boolean {
  return deliveries.count > 1 && !reconciled && !imported
}

function ShownHeaders({ id }: { readonly id: string }) {
  const { data, error, reload } = useResource((signal) => readPayloads(id, signal), [id])
  if (!data) return error === undefined ? <Skeleton rows={6} /> : <Failure error={error} onRetry={reload} />
  const { headers } = data.receipt
  if (headers === null) return <p class="panel-note">{words.headersGone}</p>
  const lines = headers.split('\n').filter((line) => line !== '')
  return (
    <dl class="pairs">
      {lines.map((line) => {
        const place = line.indexOf(':')
        const [name, value] = [line.slice(0, place), line.slice(place + 1).trim()]
        return [
          <dt key={`${line} name`}>{name}</dt>,
          <dd key={line}>
            <Copy text={value} />
          </dd>,
        ]
      })}
    </dl>
  )
}

function Signature({ chain }: { readonly chain: Chain }) {
  const { receipt, reconciled, imported } = chain
  const isUnsigned = reconciled || imported
  return (
    <div class="panel-note">
      {isRepeated(chain) && <p>{words.onlyFirst}</p>}
      <p>
        <State
          state={isUnsigned ? 'received' : 'ok'}
          label={isUnsigned ? words.notSigned : words.signatureGood(receipt.secret)}
        />
      </p>
      <p>
        {imported
          ? words.importedHint
          : reconciled
            ? words.notSignedHint
            : words.signatureHint(receipt.source, receipt.secret)}
      </p>
      <dl class="pairs inset">
        {receipt.bodySha256 !== null && [
          <dt key="hash name">{words.bodyHash}</dt>,
          <dd key="hash">
            <Copy text={receipt.bodySha256} />
          </dd>,
        ]}
        {receipt.occurredAt !== null && [
          <dt key="name">{words.occurred}</dt>,
          <dd key="value">
            <Time at={receipt.occurredAt} as="clock" />
          </dd>,
        ]}
      </dl>
    </div>
  )
}

function Attempts({ attempts }: Pick<Chain, 'attempts'>) {
  const newestFirst = [...attempts].sort((a, b) => Date.parse(b.startedAt) - Date.parse(a.startedAt))
  return (
    <ol class="entries">
      {newestFirst.map((one) => (
        <li key={`${one.subscriber} ${one.fence}`}>
          <div class="entry-head">
            <b>{words.attemptOf(one.number, one.subscriber)}</b>
            <State state={one.outcome} isPlain />
            <span class="muted right">
              <Time at={one.startedAt} as="clock" />
            </span>
          </div>
          <div class="muted">
            {one.endedAt === null
              ? words.running
              : words.took(formatDuration(Date.parse(one.endedAt) - Date.parse(one.startedAt)))}
          </div>
          {one.error !== null && <pre class="error-text">{one.error}</pre>}
          {one.stack !== null && <Stack stack={one.stack} />}
        </li>
      ))}
    </ol>
  )
}

function Stack({ stack }: { readonly stack: string }) {
  return (
    <details class="stack">
      <summary>{words.stack}</summary>
      <pre class="stack-text">{stack}</pre>
    </details>
  )
}

function Effects({ id, effects }: Pick<Chain, 'effects'> & { readonly id: string }) {
  const mayRead = canReadBodies.value
  const { data } = useResource(
    async (signal) => (mayRead ? (await readPayloads(id, signal)).effects : []),
    [id, mayRead, effects.length],
  )
  const resultOf = ({ key, epoch }: Chain['effects'][number]): string | null =>
    data?.find((one) => one.key === key && one.epoch === epoch)?.resultText ?? null
  return (
    <ol class="entries">
      {effects.map((one) => (
        <li key={`${one.key} ${one.epoch}`}>
          <div class="entry-head">
            <Copy text={one.key} />
            <span class="right">
              <State state={one.state} isPlain />
            </span>
          </div>
          <div class="muted">{words.modes[one.mode] ?? one.mode}</div>
          {one.reason !== null && <div class="fault">{one.reason}</div>}
          <dl class="pairs inset">
            <dt>{words.downstreamKey}</dt>
            <dd>
              <Copy text={one.downstreamKey} />
            </dd>
            {one.epoch > 1 && [<dt key="name">{words.epoch}</dt>, <dd key="value">{one.epoch}</dd>]}
          </dl>
          <Result text={resultOf(one)} />
        </li>
      ))}
    </ol>
  )
}

function Result({ text }: { readonly text: string | null }) {
  if (text === null) return null
  const tree = parseJson(text)
  return (
    <>
      <div class="muted">{words.result}</div>
      {tree ? <JsonTree node={tree} /> : <pre class="raw">{text}</pre>}
    </>
  )
}

function Decisions({ decisions }: Pick<Chain, 'decisions'>) {
  return (
    <ol class="entries">
      {decisions.map((one) => (
        <li key={`${one.at} ${one.action}`}>
          <div class="entry-head">
            <b>{words.actions[one.action] ?? one.action}</b>
            <span class="muted right">
              <Time at={one.at} />
            </span>
          </div>
          <div>{one.why}</div>
          <div class="muted">{words.by(one.actor, one.address)}</div>
        </li>
      ))}
    </ol>
  )
}
