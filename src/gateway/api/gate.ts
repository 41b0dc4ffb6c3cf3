import { createHash, scryptSync, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { HookonceError } from '../../model/errors.ts'
import type { Ledgers } from '../../operate/tables.ts'
import {
  closeSession,
  isTokenText,
  openSession,
  readSession,
  readToken,
  type Token,
} from '../../operate/tokens.ts'
import { type AdminAddress, isLocalName, type LocalAccess } from '../access.ts'
import { attempts } from './attempts.ts'
import type { Caller } from './caller.ts'

/*
 * Authenticates a request. A request has access by a token in the header `authorization`, by a
 * session in a cookie, or because it is local. Local requests have the rights of `LocalAccess`, on
 * a loopback listener without HOOKONCE_ADMIN_TOKEN.
 */

export interface Gate {
  /** Throws UNAUTHENTICATED, unless the request has access. `wanted` is the requested route. */
  identify(request: IncomingMessage, wanted?: 'api' | 'metrics'): Promise<Entry>
  /** Throws CROSS_SITE if another site may have made the browser send this request. */
  requireSameSite(request: IncomingMessage, entry: Entry | undefined): void
  /** Opens a session of a token, for a browser. */
  logIn(request: IncomingMessage, token: string): Promise<LogIn>
  /** Ends the session. Returns the cookie that deletes the session's cookie in the browser. */
  logOut(request: IncomingMessage, entry: Entry): Promise<string>
}

export interface Entry {
  readonly caller: Caller
  readonly session?: BrowserSession | undefined
  /** A browser adds cookies to any request, but never this header. */
  readonly byHeader: boolean
}

export interface BrowserSession {
  readonly secret: string
  readonly expiresAt: Date
  /** To be sent in `x-hookonce-csrf` with each request that changes something. */
  readonly csrf: string
}

export interface LogIn {
  readonly entry: Entry & { readonly session: BrowserSession }
  readonly cookie: string
}

export interface GateOptions extends Pick<AdminAddress, 'token'> {
  /** Default: nothing. */
  readonly local?: LocalAccess | undefined
  readonly ledger: () => Promise<Ledgers>
}

/** These names contain a colon, so no stored token can have them. */
const ENVIRONMENT = 'env:HOOKONCE_ADMIN_TOKEN'
const LOCAL = 'local:loopback'
const CSRF_HEADER = 'x-hookonce-csrf'

export function gate({ token: environmentToken, local = 'nothing', ledger }: GateOptions): Gate {
  const limit = attempts()
  const recent = recentlyGood()
  const environment = { ...FULL, id: environmentId(environmentToken), name: ENVIRONMENT }
  const environmentCaller = (address: string): Caller => ({ ...environment, address })

  async function identify(request: IncomingMessage, wanted: 'api' | 'metrics' = 'api'): Promise<Entry> {
    const address = addressOf(request)
    const { authorization } = request.headers
    if (authorization !== undefined) {
      const [, token] = /^Bearer (\S{1,512})$/i.exec(authorization) ?? []
      if (token === undefined) throw unauthenticated('the header `authorization` is not "Bearer" and a token')
      return { caller: (await ofToken(token, address)).caller, byHeader: true }
    }
    const secret = cookieOf(request)
    const entry = secret === undefined ? undefined : await ofSession(secret, address)
    if (entry) return entry
    if (environmentToken !== undefined)
      throw unauthenticated(secret === undefined ? 'there is no token' : 'the session has ended')
    if (!isLocalName(request.headers.host)) throw notLocal()
    if (isForwarded(request)) throw notThroughProxy()
    if (local !== 'everything' && local !== wanted) throw unauthenticated(NO_TOKEN)
    // Local callers need no secret, so reads caused by other sites are refused too.
    if (!isSameSite(request)) throw crossSite()
    return { caller: { ...FULL, id: LOCAL, name: LOCAL, address }, byHeader: false }
  }

  async function ofToken(
    text: string,
    address: string,
  ): Promise<{ caller: Caller; token: Token | undefined }> {
    if (environmentToken !== undefined && isSame(text, environmentToken))
      return { caller: environmentCaller(address), token: undefined }
    if (!recent.has(text)) limit.check(address)
    const token = isTokenText(text) ? await readToken(await ledger(), text) : undefined
    recent.note(text, token !== undefined)
    if (token) return { caller: callerOf(token, address), token }
    limit.failed(address)
    throw unauthenticated('the token is unknown, expired or revoked')
  }

  /** Undefined: the session has ended. If no token is needed, the caller is then a local caller. */
  async function ofSession(secret: string, address: string): Promise<Entry | undefined> {
    if (!recent.has(secret)) limit.check(address)
    const found = await readSession(await ledger(), secret, environmentToken)
    recent.note(secret, found !== undefined)
    if (!found) {
      limit.failed(address)
      return undefined
    }
    const session = { secret, expiresAt: found.expiresAt, csrf: csrfOf(secret) }
    const caller = found.token === 'environment' ? environmentCaller(address) : callerOf(found.token, address)
    return { caller, session, byHeader: false }
  }

  return {
    identify,
    requireSameSite(request, entry) {
      if (entry?.byHeader) return
      if (!isSameSite(request)) throw crossSite()
      if (!entry?.session) return
      const given = request.headers[CSRF_HEADER]
      if (typeof given !== 'string' || !isSame(given, entry.session.csrf))
        throw new HookonceError('CROSS_SITE', `the header ${CSRF_HEADER} is missing or wrong`)
    },
    async logIn(request, text) {
      const address = addressOf(request)
      const { caller, token } = await ofToken(text, address)
      const owner = token ? { tokenId: token.id } : { environmentToken: text }
      const { secret, expiresAt } = await openSession(await ledger(), owner)
      const session = { secret, expiresAt, csrf: csrfOf(secret) }
      return { entry: { caller, session, byHeader: false }, cookie: cookie(request, secret, expiresAt) }
    },
    async logOut(request, { session }) {
      if (session) await closeSession(await ledger(), session.secret, environmentToken)
      return cookie(request, '', new Date(0))
    },
  }
}

/** Enough for the people and programs of one gateway. */
const MAX_RECENT = 200

/**
 * Digests of tokens and sessions that were valid at their last use. They are still looked up, but
 * failed attempts of other clients behind the same proxy do not lock them out.
 */
function recentlyGood() {
  const good = new Set<string>()
  const keyOf = (secret: string): string => digest(secret).toString('base64')
  return {
    has: (secret: string): boolean => good.has(keyOf(secret)),
    note(secret: string, isGood: boolean): void {
      good.delete(keyOf(secret))
      if (!isGood) return
      good.add(keyOf(secret))
      const [oldest] = good
      if (good.size > MAX_RECENT && oldest !== undefined) good.delete(oldest)
    },
  }
}

const FULL = { role: 'admin', tenant: undefined, bodies: true } as const

function callerOf({ id, name, role, tenant, bodies }: Token, address: string): Caller {
  return { id: `token:${id}`, name, role, tenant: tenant ?? undefined, bodies, address }
}

/**
 * A new token in the environment is a new caller. The id is stored, and people may choose a
 * guessable token, so the id is a slow hash.
 */
function environmentId(token: string | undefined): string {
  if (token === undefined) return 'env'
  return `env:${scryptSync(token, 'hookonce admin api', 16).toString('hex')}`
}

function addressOf({ socket }: IncomingMessage): string {
  return (socket.remoteAddress ?? 'unknown').replace(/^::ffff:/, '')
}

/* The prefix `__Host-` makes browsers refuse the cookie from another host or without TLS. */
const SECURE_COOKIE = '__Host-hookonce'
const LOCAL_COOKIE = 'hookonce'

/**
 * Without TLS a browser keeps a secure cookie only for some loopback names, so there it is plain.
 */
function isPlain({ headers }: IncomingMessage): boolean {
  return isLocalName(headers.host)
}

function cookie(request: IncomingMessage, secret: string, expiresAt: Date): string {
  const plain = isPlain(request)
  const parts = [
    `${plain ? LOCAL_COOKIE : SECURE_COOKIE}=${secret}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Strict',
    `Expires=${expiresAt.toUTCString()}`,
  ]
  return [...parts, ...(plain ? [] : ['Secure'])].join('; ')
}

function cookieOf(request: IncomingMessage): string | undefined {
  const name = isPlain(request) ? LOCAL_COOKIE : SECURE_COOKIE
  const pairs = (request.headers.cookie ?? '').split(/;\s*/)
  const found = pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
  return found !== undefined && /^[A-Za-z0-9_-]{43}$/.test(found) ? found : undefined
}

/** With a request that changes something, browsers send at least one of the two headers. */
function isSameSite({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  const { origin, host } = headers
  if (origin === undefined) return true
  return /^https?:\/\/(.+)$/.exec(origin)?.[1] === host
}

/** Compares digests, so that the duration reveals neither the secret nor its length. */
function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(digest(given), digest(wanted))
}

function csrfOf(secret: string): string {
  return digest(`csrf ${secret}`).toString('base64url')
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function unauthenticated(detail: string): HookonceError {
  return new HookonceError('UNAUTHENTICATED', detail)
}

const NO_TOKEN =
  'there is no token: make one with `hookonce token create`, or start the gateway with HOOKONCE_ADMIN_TOKEN'

function crossSite(): HookonceError {
  return new HookonceError('CROSS_SITE', 'the request came from a page of another site')
}

/** Headers of proxies, tunnels and content delivery networks. */
const PROXY_HEADERS =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-.*|fastly-.*|x-envoy-.*|x-original-.*|x-amzn-.*|x-azure-.*)$/

/**
 * A proxy on this machine lets strangers in, whatever host its requests name. By default nginx adds
 * no header, but uses HTTP/1.0.
 */
function isForwarded({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.0' || Object.keys(headers).some((name) => PROXY_HEADERS.test(name))
}

function notThroughProxy(): HookonceError {
  const fault = 'a proxy forwarded this request: set HOOKONCE_ADMIN_TOKEN, and send a token'
  return new HookonceError('FORBIDDEN', fault)
}

/** Prevents DNS rebinding: a web page can resolve its own name to 127.0.0.1 in a local browser. */
function notLocal(): HookonceError {
  const fault =
    'without an admin token this listener answers to the names 127.0.0.1, [::1] and localhost only'
  return new HookonceError('FORBIDDEN', fault)
}
