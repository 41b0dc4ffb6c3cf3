import type { ComponentType } from 'preact'
import type { PageProps } from './page-props.ts'
import { texts } from './texts.ts'

/*
 * Every page. A page is a lazy chunk with a default export. The router, the rail and the palette
 * need only its line here.
 */

export interface Route {
  readonly path: string
  readonly title: string
  /** The part of the rail. Without it, the page is not in the rail. */
  readonly rail?: 'work' | 'set-up'
  /** The number beside its name in the rail. */
  readonly count?: 'failed' | 'attention'
  /** The keys `g` and this key open the page. */
  readonly key?: string
  /** Whether the list fills the window and scrolls separately. */
  readonly fills?: boolean
  /** The entry of the rail that is marked while this page is shown. */
  readonly under?: string
  readonly load: () => Promise<{ readonly default: ComponentType<PageProps> }>
}

const { pages } = texts

export const routes: readonly Route[] = [
  {
    path: '/',
    title: pages.overview,
    rail: 'work',
    key: 'o',
    load: () => import('./pages/overview/overview.tsx'),
  },
  {
    path: '/events',
    title: pages.events,
    rail: 'work',
    key: 'e',
    fills: true,
    load: () => import('./pages/events/events.tsx'),
  },
  {
    path: '/events/:id',
    title: pages.event,
    under: '/events',
    load: () => import('./pages/event/event.tsx'),
  },
  {
    path: '/failures',
    title: pages.failures,
    rail: 'work',
    count: 'failed',
    key: 'f',
    load: () => import('./pages/failures/failures.tsx'),
  },
  {
    path: '/attention',
    title: pages.attention,
    rail: 'work',
    count: 'attention',
    key: 'a',
    load: () => import('./pages/attention/attention.tsx'),
  },
  {
    path: '/rejections',
    title: pages.rejections,
    rail: 'work',
    key: 'r',
    load: () => import('./pages/rejections/rejections.tsx'),
  },
  {
    path: '/outbox',
    title: pages.outbox,
    rail: 'work',
    key: 'x',
    load: () => import('./pages/outbox/outbox.tsx'),
  },
  {
    path: '/sources',
    title: pages.sources,
    rail: 'set-up',
    key: 's',
    load: () => import('./pages/sources/sources.tsx'),
  },
  {
    path: '/destinations',
    title: pages.destinations,
    rail: 'set-up',
    key: 'd',
    load: () => import('./pages/destinations/destinations.tsx'),
  },
  {
    path: '/captured',
    title: pages.captured,
    rail: 'set-up',
    key: 'c',
    load: () => import('./pages/captured/captured.tsx'),
  },
  {
    path: '/settings',
    title: pages.settings,
    rail: 'set-up',
    key: ',',
    load: () => import('./pages/settings/settings.tsx'),
  },
]
