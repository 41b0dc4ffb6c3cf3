import { signal } from '@preact/signals'
import { explain, logOut, session } from '../api.ts'
import { isPaused, liveState } from '../data/live.ts'
import { formatShort } from '../format.ts'
import { useKeys } from '../keys.ts'
import { Segments } from '../parts/segments.tsx'
import { href } from '../router.ts'
import { type Route, routes } from '../routes.ts'
import { texts } from '../texts.ts'
import { counts, useCounts } from './counts.ts'
import { setTheme, theme } from './theme.ts'
import { toast } from './toasts.tsx'

/** On a phone the rail is hidden until the menu opens it. */
export const isRailOpen = signal(false)

export function Rail({ route }: { readonly route: Route | undefined }) {
  useCounts()
  const here = route?.under ?? route?.path
  const links = (part: Route['rail']) =>
    routes
      .filter(({ rail }) => rail === part)
      .map((one) => <RailLink key={one.path} route={one} isHere={one.path === here} />)
  const setUp = links('set-up')
  return (
    <>
      <header class={isRailOpen.value ? 'rail open' : 'rail'} id="rail">
        <a class="brand" href={href('/')}>
          <i />
          hookonce
        </a>
        <nav aria-label={texts.nav.label}>
          {links('work')}
          {setUp.length > 0 && <h2>{texts.nav.setUp}</h2>}
          {setUp}
        </nav>
        <div class="rail-foot">
          <Live />
          <Segments
            label={texts.theme.label}
            value={theme.value}
            onChange={setTheme}
            options={[
              { value: 'light', label: texts.theme.light },
              { value: 'dark', label: texts.theme.dark },
              { value: 'system', label: texts.theme.system },
            ]}
          />
          <Who />
        </div>
      </header>
      <button
        type="button"
        class="scrim"
        aria-label={texts.nav.close}
        onClick={() => {
          isRailOpen.value = false
        }}
      />
    </>
  )
}

function RailLink({ route, isHere }: { readonly route: Route; readonly isHere: boolean }) {
  const count = route.count === undefined ? 0 : counts.value[route.count]
  return (
    <a href={href(route.path)} aria-current={isHere ? 'page' : undefined}>
      {route.title}
      {count > 0 && (
        <span class={`count ${route.count === 'attention' ? 'ask' : 'bad'}`}>{formatShort(count)}</span>
      )}
    </a>
  )
}

function togglePause(): void {
  isPaused.value = !isPaused.value
}

function Live() {
  const state = liveState.value
  useKeys([{ label: isPaused.value ? texts.live.resume : texts.live.pause, run: togglePause }])
  return (
    <button
      type="button"
      class={`live ${state}`}
      aria-pressed={!isPaused.value}
      title={texts.live.title[state]}
      onClick={togglePause}
    >
      <i />
      {texts.live.state[state]}
    </button>
  )
}

function Who() {
  const { name = '', role = '', tenant, csrf } = session.value ?? {}
  const who = texts.who(name, role, tenant ?? undefined)
  return (
    <div class="who">
      <span title={who}>{who}</span>
      {csrf !== null && csrf !== undefined && (
        <button
          type="button"
          class="small quiet"
          onClick={() => logOut().catch((error: unknown) => toast(explain(error), { isBad: true }))}
        >
          {texts.logIn.out}
        </button>
      )}
    </div>
  )
}
