import type { ItemOf } from 'hookonce/client'
import { useState } from 'preact/hooks'
import { canAdminister, client } from '../../api.ts'
import { PAGE, useItems } from '../../data/items.ts'
import { PlanDialog } from '../../parts/dialog.tsx'
import { Empty } from '../../parts/feedback.tsx'
import { LoadMore } from '../../parts/load-more.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { toast } from '../../shell/toasts.tsx'
import { texts } from '../../texts.ts'
import { MadeToken, NewToken } from './new-token.tsx'

type Token = ItemOf<'/tokens'>

const words = texts.settings.tokens
const titles = words.columns

/** The tokens that may use the API and this page. */
export function Tokens() {
  if (!canAdminister.value) return <p class="card calm muted">{words.onlyAdmins}</p>
  return <Known />
}

function Known() {
  const [isMaking, setMaking] = useState(false)
  const [made, setMade] = useState<string>()
  const tokens = useItems((signal) => client.items('/tokens', { query: { limit: PAGE }, signal }), [])
  return (
    <>
      <div class="panel-head">
        <button type="button" class="first" onClick={() => setMaking(true)}>
          {words.make}
        </button>
      </div>
      {tokens.data ? (
        <div class="card">
          {tokens.data.length === 0 ? (
            <Empty title={words.empty}>{words.emptyHint}</Empty>
          ) : (
            <Table
              label={texts.settings.tabs.tokens}
              columns={columns(tokens.reload)}
              items={tokens.data}
              keyOf={({ id }) => id}
            />
          )}
          <LoadMore pages={tokens} />
        </div>
      ) : (
        <Waiting {...tokens} />
      )}
      {isMaking && (
        <NewToken
          onMade={(token) => {
            setMade(token)
            tokens.reload()
          }}
          onClose={() => setMaking(false)}
        />
      )}
      {made !== undefined && !isMaking && <MadeToken token={made} onClose={() => setMade(undefined)} />}
    </>
  )
}

function columns(reload: () => void): readonly Column<Token>[] {
  return [
    {
      name: 'name',
      title: titles.name,
      width: 'minmax(0, 1.2fr)',
      cell: ({ name, createdBy }) => <span title={createdBy}>{name}</span>,
    },
    { name: 'role', title: titles.role, width: '80px', cell: ({ role }) => role },
    {
      name: 'tenant',
      title: titles.tenant,
      width: 'minmax(0, 0.8fr)',
      shown: 'wide',
      cell: ({ tenant }) => <span class="muted">{tenant ?? words.all}</span>,
    },
    {
      name: 'bodies',
      title: titles.bodies,
      width: '64px',
      shown: 'wide',
      cell: ({ bodies }) => <span class="muted">{bodies ? words.yes : words.no}</span>,
    },
    {
      name: 'used',
      title: titles.used,
      width: '90px',
      align: 'end',
      shown: 'wide',
      cell: ({ usedAt }) => <span class="muted">{usedAt ? <Time at={usedAt} /> : words.unused}</span>,
    },
    {
      name: 'expires',
      title: titles.expires,
      width: '90px',
      align: 'end',
      shown: 'wide',
      cell: ({ expiresAt }) => <span class="muted">{expiresAt ? <Time at={expiresAt} /> : words.never}</span>,
    },
    {
      name: 'act',
      title: titles.act,
      isTitleHidden: true,
      width: '84px',
      align: 'end',
      cell: (token) => <Revoke token={token} reload={reload} />,
    },
  ]
}

function Revoke({ token: { id, name }, reload }: { readonly token: Token; readonly reload: () => void }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="small" onClick={() => setOpen(true)}>
        {words.revoke}
        <span class="hidden"> {name}</span>
      </button>
      {isOpen && (
        <PlanDialog
          title={words.revokeTitle(name)}
          verb={words.revoke}
          isDangerous
          onClose={() => setOpen(false)}
          onConfirm={async (why) => {
            await client.delete('/tokens/{id}', { params: { id }, query: { why } })
            toast(words.revoked(name))
            reload()
          }}
        >
          <dl class="consequence">
            <dt>{words.will}</dt>
            <dd>{words.revokeWill}</dd>
            <dt>{words.willNot}</dt>
            <dd>{words.revokeWillNot}</dd>
          </dl>
        </PlanDialog>
      )}
    </>
  )
}
