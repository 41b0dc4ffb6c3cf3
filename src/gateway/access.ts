import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { HookonceError } from '../model/errors.ts'

/*
 * Access to the admin listener. On loopback, every user of this machine has access, unless there is
 * a token. On any other address a token is required.
 */

export interface AdminAddress {
  readonly host: string
  readonly token: string | undefined
}

/** Returns undefined for a request with access, and otherwise the answer. */
export type Access = (request: IncomingMessage) => Denial | undefined

export interface Denial {
  readonly status: number
  readonly text: string
  readonly headers?: Readonly<Record<string, string>>
}

/** 24 hexadecimal digits are 96 bits, which cannot be guessed over a network. */
const MIN_TOKEN_CHARS = 24
const MAKE_ONE = 'make one with `openssl rand -hex 32`'

/** Throws if the listener would be open to strangers. */
export function adminAccess({ host, token }: AdminAddress): Access {
  if (token === undefined) {
    if (!isLoopback(host)) throw withoutToken(host)
    return (request) => (isLocalName(request.headers.host) ? undefined : REBOUND)
  }
  if (token.length < MIN_TOKEN_CHARS) throw shortToken(token)
  const wanted = digest(`Bearer ${token}`)
  return (request) =>
    timingSafeEqual(digest(request.headers.authorization ?? ''), wanted) ? undefined : UNAUTHORIZED
}

const UNAUTHORIZED: Denial = {
  status: 401,
  text: 'Send the admin token: "authorization: Bearer <HOOKONCE_ADMIN_TOKEN>"\n',
  headers: { 'www-authenticate': 'Bearer realm="hookonce"' },
}

/** Against DNS rebinding: a web page can resolve its own name to 127.0.0.1 in a local browser. */
const REBOUND: Denial = {
  status: 403,
  text: 'Without an admin token this listener answers to the names 127.0.0.1, [::1] and localhost only\n',
}

/** Has the same length for any text, so that a comparison does not reveal the token's length. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function withoutToken(host: string): HookonceError {
  return new HookonceError(
    'CONFIG_INVALID',
    `other machines can reach the admin listener at "${host}": set HOOKONCE_ADMIN_TOKEN (${MAKE_ONE}), or leave --admin-host at 127.0.0.1`,
  )
}

function shortToken(token: string): HookonceError {
  return new HookonceError(
    'CONFIG_INVALID',
    `the admin token has ${token.length} characters, and needs at least ${MIN_TOKEN_CHARS}: ${MAKE_ONE}`,
  )
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

function isLoopback(host: string): boolean {
  if (host === 'localhost') return true
  const version = isIP(host)
  return version !== 0 && loopback.check(host, version === 6 ? 'ipv6' : 'ipv4')
}

function isLocalName(hostHeader: string | undefined): boolean {
  const [, name] = /^\[?([^\]]*?)\]?(?::\d+)?$/.exec(hostHeader ?? '') ?? []
  return name !== undefined && isLoopback(name.toLowerCase())
}
