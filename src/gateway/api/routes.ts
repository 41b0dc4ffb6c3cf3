import { z } from 'zod'
import { HookonceError } from '../../model/errors.ts'
import { alertRoutes } from './alerts.ts'
import { attentionRoutes } from './attention.ts'
import { auditRoutes } from './audit.ts'
import { capturedRoutes } from './captured.ts'
import { eventRoutes } from './events.ts'
import { failureRoutes } from './failures.ts'
import { gatewayRoutes } from './gateway.ts'
import { outboxRoutes } from './outbox.ts'
import { providerRoutes } from './providers.ts'
import { rejectionRoutes } from './rejections.ts'
import { replayRoutes } from './replays.ts'
import { MethodUnsupported } from './reply.ts'
import { retryRoutes } from './retries.ts'
import { type Route, route } from './route.ts'
import { sessionRoutes } from './session.ts'
import { sourceRoutes } from './sources.ts'
import { statRoutes } from './stats.ts'
import { streamRoutes } from './stream.ts'
import { subscriberRoutes } from './subscribers.ts'
import { tokenRoutes } from './tokens.ts'
import { workerRoutes } from './workers.ts'

/**
 * Every route of the API. The OpenAPI document, the client and the test of access read this list.
 */
export const routes = [
  ...eventRoutes,
  ...failureRoutes,
  ...attentionRoutes,
  ...rejectionRoutes,
  ...outboxRoutes,
  ...replayRoutes,
  ...retryRoutes,
  ...sourceRoutes,
  ...providerRoutes,
  ...subscriberRoutes,
  ...workerRoutes,
  ...statRoutes,
  ...streamRoutes,
  ...alertRoutes,
  ...capturedRoutes,
  ...gatewayRoutes,
  ...auditRoutes,
  ...tokenRoutes,
  ...sessionRoutes,
  route({
    method: 'GET',
    path: '/openapi.json',
    access: { role: 'viewer', scope: 'tenant' },
    tag: 'document',
    summary: 'This document',
    response: z.record(z.string(), z.unknown()),
    // The dispatcher answers this route, because only it knows the mount path.
    answer: () => Promise.reject(new Error('the dispatcher must answer this route')),
  }),
] as const satisfies readonly Route[]

export interface FoundRoute {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

const parsed = routes.map((one: Route) => ({ route: one, segments: one.path.split('/') }))

/** Throws ROUTE_UNKNOWN or METHOD_UNSUPPORTED. */
export function findRoute(method: string, path: string): FoundRoute {
  const given = path.replace(/\/$/, '').split('/')
  const ofPath = parsed.flatMap(({ route, segments }) => {
    const params = paramsOf(segments, given)
    return params ? [{ route, params }] : []
  })
  const found = ofPath.find(({ route }) => route.method === method)
  if (found) return found
  if (ofPath.length > 0)
    throw new MethodUnsupported(method, [...new Set(ofPath.map(({ route }) => route.method))])
  throw new HookonceError('ROUTE_UNKNOWN', `there is no "${path}"`)
}

function paramsOf(segments: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (segments.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, segment] of segments.entries()) {
    const part = given[index] ?? ''
    const [, name] = /^\{(\w+)\}$/.exec(segment) ?? []
    if (name === undefined) {
      if (segment !== part) return undefined
      continue
    }
    const value = decoded(part)
    if (value === undefined || value === '') return undefined
    params[name] = value
  }
  return params
}

function decoded(part: string): string | undefined {
  try {
    const text = decodeURIComponent(part)
    return text.includes('\0') ? undefined : text
  } catch {
    // The path is not valid UTF-8, so it names nothing.
    return undefined
  }
}
