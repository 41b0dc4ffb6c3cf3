import type { IncomingMessage, ServerResponse } from 'node:http'
import { PLAIN } from '../../input/plain-issues.ts'
import { HookonceError } from '../../model/errors.ts'
import { reporting } from '../../operate/across.ts'
import { operatorError } from '../../operate/operator-error.ts'
import type { Ledgers } from '../../operate/tables.ts'
import type { AdminAddress, LocalAccess } from '../access.ts'
import { parseStorable, readJsonBody } from './body.ts'
import { requireAccess } from './caller.ts'
import { changeFeed, type Feed } from './feed.ts'
import { type Entry, type Gate, gate } from './gate.ts'
import type { GatewayFacts } from './gateway-facts.ts'
import { type Keyed, keyedReplies } from './keyed.ts'
import { openApi } from './openapi.ts'
import { InvalidRequest } from './problem.ts'
import { parseQuery } from './query.ts'
import { type Reply, sendError, sendReply } from './reply.ts'
import type { RawReply, Route } from './route.ts'
import { findRoute, routes } from './routes.ts'
import { answerSession, isSessionPath } from './session.ts'

/*
 * The admin API: find the route → authenticate and authorise → check the input → answer. Its paths
 * begin with `/api/v1`, so it works under any mount path.
 */

export interface ApiOptions extends Pick<AdminAddress, 'token'> {
  /** The rights of requests without a token. */
  readonly local: LocalAccess
  /** The ledger, on the operators' connections. */
  readonly ledger: () => Promise<Ledgers>
  readonly gateway: GatewayFacts
  /** Receives unexpected errors, which are faults of hookonce. */
  readonly onTrouble: (error: unknown) => void
}

export interface Api {
  readonly gate: Gate
  /** `path` begins after `/api/v1`; `mount` is the part up to and including it. */
  answer(request: IncomingMessage, response: ServerResponse, at: { path: string; mount: string }): void
  close(): Promise<void>
}

/**
 * The limit on requests in progress. More requests would only wait for the few connections of
 * operators.
 */
const MAX_IN_PROGRESS = 64
/** The header that names the ledgers which could not be read. */
const UNREACHABLE = 'hookonce-unreachable-ledgers'
/** Strangers can send log-ins, also slow ones, so log-ins have a separate limit. */
const MAX_LOG_INS = 16

export function adminApi(options: ApiOptions): Api {
  const door = gate(options)
  const keyed = keyedReplies(options.ledger)
  const feed = changeFeed(options.ledger, options.onTrouble)
  const requests = room(MAX_IN_PROGRESS, 'requests')
  const logIns = room(MAX_LOG_INS, 'log-ins')

  async function reply(
    request: IncomingMessage,
    { path, mount }: { path: string; mount: string },
  ): Promise<Reply> {
    if (isSessionPath(path)) return answerSession(door, request)
    const found = findRoute(request.method ?? '', path)
    const entry = await door.identify(request)
    requireAccess(found.route.access, entry.caller)
    if (request.method !== 'GET') door.requireSameSite(request, entry)
    if (path === '/openapi.json') return { status: 200, json: openApi(routes, mount) }
    const isAllowed = () => isStillAllowed(request, found.route, entry)
    return answerRoute({ ...found, request, entry, isAllowed, keyed, feed, options })
  }

  /** Repeats the authentication of the caller. */
  async function isStillAllowed(request: IncomingMessage, { access }: Route, entry: Entry): Promise<boolean> {
    try {
      const { caller } = await door.identify(request)
      requireAccess(access, caller)
      return caller.tenant === entry.caller.tenant
    } catch (error) {
      const { code } = error instanceof HookonceError ? error : {}
      if (code === 'UNAUTHENTICATED' || code === 'FORBIDDEN') return false
      throw error
    }
  }

  return {
    gate: door,
    answer(request, response, at) {
      const isLogIn = isSessionPath(at.path) && request.method === 'POST'
      // A stream does not count towards the limit: it waits for changes, and holds no connection.
      const inRoom = isLogIn ? logIns : requests
      inRoom(() => reply(request, at))
        .then((answer) => sendReply(response, answer))
        .catch((error) => {
          const told = operatorError(error)
          if (!(told instanceof HookonceError)) options.onTrouble(error)
          sendError(response, told)
        })
        // Discards the unread part of a refused request.
        .finally(() => request.resume())
        .catch(options.onTrouble)
    },
    async close() {
      feed.close()
      await keyed.close()
    },
  }
}

/** Runs `work`, unless the limit is reached. */
function room(most: number, noun: string): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let inProgress = 0
  return async (work) => {
    if (inProgress >= most) throw new HookonceError('OVERLOADED', `${most} ${noun} are in progress`)
    inProgress += 1
    try {
      return await work()
    } finally {
      inProgress -= 1
    }
  }
}

interface RouteCall {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
  readonly request: IncomingMessage
  readonly entry: Entry
  readonly isAllowed: () => Promise<boolean>
  readonly keyed: Keyed
  readonly feed: Feed
  readonly options: ApiOptions
}

async function answerRoute({
  route,
  params,
  request,
  entry,
  isAllowed,
  keyed,
  feed,
  options,
}: RouteCall): Promise<Reply> {
  const query = parseQuery(route.query, request.url ?? '')
  const body = route.body ? checkedBody(route, await readJsonBody(request)) : undefined
  const unreachable = new Set<string>()
  const context = {
    ledger: reporting(await options.ledger(), (name) => unreachable.add(name)),
    caller: entry.caller,
    gateway: options.gateway,
    feed,
    lastEventId: request.headersDistinct['last-event-id']?.[0],
    isAllowed,
  }
  const answer = async (): Promise<Reply> => {
    const result = await route.answer(context, { params, query, body: body?.value })
    if (!route.response) return rawReply(result as RawReply)
    // Omits values that the schema does not name, so nothing is shown by accident.
    return { status: route.status, json: route.response.parse(result) }
  }
  if (!route.isKeyed) return withUnreachable(await answer(), unreachable)
  const asked = { caller: entry.caller, route, params, body: body?.text ?? '' }
  return withUnreachable(await keyed.once(request, asked, answer), unreachable)
}

/** Names the ledgers that are missing from the answer. */
function withUnreachable(reply: Reply, names: ReadonlySet<string>): Reply {
  if (names.size === 0) return reply
  return { ...reply, headers: { ...reply.headers, [UNREACHABLE]: [...names].join(', ') } }
}

function checkedBody({ body }: Route, text: string): { readonly value: unknown; readonly text: string } {
  const checked = body?.safeParse(parseStorable(text, 'the body'), PLAIN)
  if (!checked?.success) throw new InvalidRequest('body', checked?.error.issues ?? [])
  return { value: checked.data, text }
}

function rawReply({ status = 200, headers, body }: RawReply): Reply {
  return { status, headers, body }
}
