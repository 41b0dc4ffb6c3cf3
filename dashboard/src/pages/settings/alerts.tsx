import type { ItemOf } from 'hookonce/client'
import { useState } from 'preact/hooks'
import { canOperate, client, newKey } from '../../api.ts'
import { PAGE, useItems } from '../../data/items.ts'
import { PlanDialog } from '../../parts/dialog.tsx'
import { Empty } from '../../parts/feedback.tsx'
import { LoadMore } from '../../parts/load-more.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { toast } from '../../shell/toasts.tsx'
import { texts } from '../../texts.ts'

type Alert = ItemOf<'/alerts'>

const words = texts.settings.alerts
const titles = words.columns

/** The alerts that are open now. */
export function Alerts() {
  const alerts = useItems((signal) => client.items('/alerts', { query: { limit: PAGE }, signal }), [], {
    refreshMs: 3_000,
  })
  if (!alerts.data) return <Waiting {...alerts} />
  return (
    <div class="card">
      {alerts.data.length === 0 ? (
        <Empty title={words.empty}>{words.emptyHint}</Empty>
      ) : (
        <Table
          label={texts.settings.tabs.alerts}
          columns={columns(alerts.reload)}
          items={alerts.data}
          keyOf={({ id }) => id}
        />
      )}
      <LoadMore pages={alerts} />
    </div>
  )
}

function columns(reload: () => void): readonly Column<Alert>[] {
  return [
    { name: 'rule', title: titles.rule, width: '84px', cell: ({ rule }) => rule },
    {
      name: 'about',
      title: titles.about,
      width: 'minmax(0, 0.8fr)',
      shown: 'wide',
      cell: (alert) => <span class="muted">{aboutOf(alert)}</span>,
    },
    {
      name: 'says',
      title: titles.says,
      width: 'minmax(0, 2fr)',
      cell: ({ says, next }) => <span title={`${says}\n${next}`}>{says}</span>,
    },
    {
      name: 'opened',
      title: titles.opened,
      width: '90px',
      align: 'end',
      shown: 'wide',
      cell: ({ openedAt }) => (
        <span class="muted">
          <Time at={openedAt} />
        </span>
      ),
    },
    {
      name: 'act',
      title: titles.act,
      isTitleHidden: true,
      width: '118px',
      align: 'end',
      cell: (alert) =>
        alert.acknowledgedBy === null ? (
          <Acknowledge alert={alert} reload={reload} />
        ) : (
          <span class="muted" title={alert.acknowledgedWhy ?? undefined}>
            {words.by(alert.acknowledgedBy)}
          </span>
        ),
    },
  ]
}

function aboutOf({ subscriber, source, tenant }: Alert): string {
  const name = subscriber || source
  return tenant === 'default' ? name : `${tenant} · ${name}`
}

function Acknowledge({ alert, reload }: { readonly alert: Alert; readonly reload: () => void }) {
  const [isOpen, setOpen] = useState(false)
  const [mute, setMute] = useState('')
  if (!canOperate.value) return null
  return (
    <>
      <button type="button" class="small" onClick={() => setOpen(true)}>
        {words.acknowledge}
      </button>
      {isOpen && (
        <PlanDialog
          title={words.title(alert.rule, aboutOf(alert))}
          verb={words.acknowledge}
          onClose={() => setOpen(false)}
          onConfirm={async (why) => {
            await client.post('/alerts/{id}/acknowledge', {
              params: { id: alert.id },
              body: { why, tenant: alert.tenant, ...(mute === '' ? {} : { muteSeconds: Number(mute) }) },
              idempotencyKey: newKey(),
            })
            toast(words.done)
            reload()
          }}
        >
          <p>{alert.says}</p>
          <dl class="consequence">
            <dt>{words.will}</dt>
            <dd>{words.willText}</dd>
            <dt>{words.willNot}</dt>
            <dd>{words.willNotText}</dd>
          </dl>
          <label class="field">
            <span>{words.mute}</span>
            <select value={mute} onChange={(event) => setMute(event.currentTarget.value)}>
              <option value="">{words.notMuted}</option>
              {Object.entries(words.mutes).map(([seconds, label]) => (
                <option key={seconds} value={seconds}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        </PlanDialog>
      )}
    </>
  )
}
