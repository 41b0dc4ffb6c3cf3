import type { ItemOf } from 'hookonce/client'
import { formatCount } from '../../format.ts'
import { Command } from '../../parts/copy.tsx'
import { Fact, Facts } from '../../parts/expand-table.tsx'
import { Time } from '../../parts/time.tsx'
import { texts } from '../../texts.ts'

export type Rejection = ItemOf<'/rejections'>

const words = texts.rejections

/** One kind of refusal: the diagnosis, the change to make, and a command to try it. */
export function Refusal({ rejection }: { readonly rejection: Rejection }) {
  const { code, count, firstAt, lastAt, lastDetail, diagnosis, header, advice, verifyCommand } = rejection
  return (
    <>
      <dl class="consequence">
        <dt>{words.what}</dt>
        <dd>{sentence(diagnosis || lastDetail)}</dd>
        {advice !== '' && (
          <>
            <dt>{words.change}</dt>
            <dd>{advice}</dd>
          </>
        )}
      </dl>
      <Facts>
        <Fact name={words.facts.code}>
          <code>{code}</code>
        </Fact>
        {header !== null && (
          <Fact name={words.facts.header}>
            <code>{header}</code>
          </Fact>
        )}
        {diagnosis !== '' && <Fact name={words.facts.last}>{lastDetail}</Fact>}
        <Fact name={words.facts.count}>
          {words.times(formatCount(count), count)}: {words.first} <Time at={firstAt} />, {words.lastSeen}{' '}
          <Time at={lastAt} />
        </Fact>
      </Facts>
      {verifyCommand !== null && (
        <div class="verify">
          <p class="muted">{words.verify}</p>
          <Command text={verifyCommand} />
        </div>
      )}
    </>
  )
}

function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(begun) ? begun : `${begun}.`
}
