import './settings.css'
import { Tabs } from '../../parts/tabs.tsx'
import { queryValue, setQuery } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Alerts } from './alerts.tsx'
import { Audit } from './audit.tsx'
import { Tokens } from './tokens.tsx'
import { Workers } from './workers.tsx'

const words = texts.settings
const PANELS = { tokens: Tokens, audit: Audit, alerts: Alerts, workers: Workers } as const
type Tab = keyof typeof PANELS
const TABS = Object.keys(PANELS) as readonly Tab[]

export default function Settings() {
  const asked = queryValue('tab')
  const tab = TABS.find((one) => one === asked) ?? 'tokens'
  const Panel = PANELS[tab]
  return (
    <>
      <div class="head">
        <h1>{texts.pages.settings}</h1>
      </div>
      <Tabs
        label={words.title}
        tabs={TABS.map((value) => ({ value, label: words.tabs[value] }))}
        value={tab}
        onChange={(next) => setQuery({ tab: next === 'tokens' ? '' : next })}
      >
        <Panel />
      </Tabs>
    </>
  )
}
