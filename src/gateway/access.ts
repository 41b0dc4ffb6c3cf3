import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { HookonceError } from '../model/errors.ts'

/*
 * Who may use the admin listener. On loopback everyone on this machine may, unless there is a
 * token. Beyond loopback nobody may without one.
 */

export interface AdminAddress {
  readonly host: string
  readonly token: string | undefined
}

/** Undefined: let in. Otherwise the answer. */
export type Access = (request: IncomingMessage) => Denial | undefined

export interface Denial {
  readonly status: number
  readonly text: string
  readonly headers?: Readonly<Record<string, string>>
}

/** 24 characters of hexadecimal digits are 96 bits: nobody guesses those over a network. */
const MIN_TOKEN_CHARS = 24
const MAKE_ONE = 'make one with `openssl rand -hex 32`'

/** Throws where the listener would be open to strangers. */
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

/** A web page can point its own name at 127.0.0.1 and have a browser on this machine ask for it. */
const REBOUND: Denial = {
  status: 403,
  text: 'Without an admin token this listener answers to the names 127.0.0.1, [::1] and localhost only\n',
}

/** Equally long, whatever was sent: a comparison must not tell how long the token is. */
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
