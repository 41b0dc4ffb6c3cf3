import { useSignalEffect } from '@preact/signals'
import type { ComponentType } from 'preact'
import { Component } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isOffline, session } from './api.ts'
import { unreachable } from './data/unreachable.ts'
import { focusedField, useKeys } from './keys.ts'
import type { PageProps } from './page-props.ts'
import { Empty, Failure, Skeleton } from './parts/feedback.tsx'
import { href, matchPath, navigate, place } from './router.ts'
import { type Route, routes } from './routes.ts'
import { Help } from './shell/help.tsx'
import { LogIn } from './shell/log-in.tsx'
import { Palette } from './shell/palette.tsx'
import { isRailOpen, Rail } from './shell/rail.tsx'
import { Search } from './shell/search.tsx'
import { setTitle } from './shell/title.ts'
import { Toasts } from './shell/toasts.tsx'
import { texts } from './texts.ts'

export function App() {
  if (session.value === undefined) return null
  return (
    <>
      {session.value === null ? <LogIn /> : <Shell />}
      <Toasts />
    </>
  )
}

function routeOf(path: string): { route: Route; params: Readonly<Record<string, string>> } | undefined {
  for (const route of routes) {
    const params = matchPath(route.path, path)
    if (params) return { route, params }
  }
  return undefined
}

function Shell() {
  const found = routeOf(place.value.path)
  const title = found?.route.title ?? texts.errors.noPage
  const main = useRef<HTMLElement>(null)
  const { path } = place.value
  const isFirst = useRef(true)

  useEffect(() => {
    setTitle(title)
    isRailOpen.value = false
    // Moves the focus to the new page, so that screen readers announce it. They read the first page
    // without help. If a field got the focus since, the user is typing in it.
    if (!isFirst.current && !focusedField()) main.current?.focus()
    isFirst.current = false
  }, [path])
  useKeys(
    routes.flatMap(({ key, path: to, title }) =>
      key === undefined
        ? []
        : [{ keys: `g ${key}`, label: texts.palette.go(title), run: () => navigate(href(to)) }],
    ),
  )

  return (
    <div class="app">
      <button type="button" class="skip-link" onClick={() => main.current?.focus()}>
        {texts.skip}
      </button>
      <Rail route={found?.route} />
      <div class="content">
        {isOffline.value && (
          <div class="banner" role="status">
            <b>{texts.errors.offlineTitle}</b>
            <span class="muted">{texts.errors.offline}</span>
          </div>
        )}
        {unreachable.value.length > 0 && (
          <div class="banner missing" role="status">
            <b>{texts.errors.unreachableTitle(unreachable.value)}</b>
            <span class="muted">{texts.errors.unreachable(unreachable.value.length)}</span>
          </div>
        )}
        <main id="main" ref={main} tabIndex={-1} class={found?.route.fills ? 'fill' : undefined}>
          <div class="top">
            <button
              type="button"
              class="menu"
              aria-label={texts.nav.open}
              aria-expanded={isRailOpen.value}
              aria-controls="rail"
              onClick={() => {
                isRailOpen.value = true
              }}
            >
              ☰
            </button>
            <Search />
          </div>
          {found ? (
            <Boundary key={found.route.path}>
              <LazyPage key={found.route.path} {...found} />
            </Boundary>
          ) : (
            <Empty title={texts.errors.noPage}>{texts.errors.noPageHint}</Empty>
          )}
        </main>
      </div>
      <Palette />
      <Help />
    </div>
  )
}

type Page = ComponentType<PageProps>

/** Pages whose chunk is loaded. They are shown at once. */
const loaded = new Map<Route, Page>()

async function loadPage(route: Route): Promise<Page> {
  const { default: Page } = await route.load()
  loaded.set(route, Page)
  return Page
}

function LazyPage({ route, params }: { readonly route: Route; readonly params: PageProps['params'] }) {
  const [page, setPage] = useState(() => {
    const Page = loaded.get(route)
    return Page && { Page }
  })
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    // A missing chunk belongs to an older version of the page: reloading the page helps.
    if (!page) loadPage(route).then((Page) => setPage({ Page }), setError)
  }, [route])
  useSignalEffect(() => {
    if (isRailOpen.value) document.getElementById('rail')?.querySelector('a')?.focus()
  })
  if (error !== undefined) return <Failure error={error} onRetry={() => window.location.reload()} />
  if (!page) return <Skeleton />
  return <page.Page params={params} />
}

/** If a page throws, the rail and the search keep working. */
class Boundary extends Component<{ readonly children: preact.ComponentChildren }, { error?: unknown }> {
  override componentDidCatch(error: unknown): void {
    console.error(error)
    this.setState({ error })
  }

  override render() {
    if (this.state.error === undefined) return this.props.children
    return <Failure error={this.state.error} onRetry={() => window.location.reload()} />
  }
}
