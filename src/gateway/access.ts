import { BlockList, isIP } from 'node:net'
import { HookonceError } from '../model/errors.ts'

/*
 * The addresses that the admin listener may use. Beyond loopback a token is required. On loopback
 * without a token, `LocalAccess` defines the rights of requests without a token. api/gate.ts
 * decides on single requests.
 */

export interface AdminAddress {
  readonly host: string
  readonly token: string | undefined
}

/**
 * The rights of a request without a token, on a loopback listener that has no token. A proxy or
 * tunnel on this machine makes strangers look local, and need not add any header. So only `hookonce
 * dev`, on the machine of a developer, allows everything.
 */
export type LocalAccess = 'everything' | 'metrics' | 'nothing'

/** 24 hexadecimal digits are 96 bits, which cannot be guessed over a network. */
const MIN_TOKEN_CHARS = 24
const MAKE_ONE = 'make one with `openssl rand -hex 32`'

/** Throws if strangers could use the listener without a token. */
export function requireSafeAddress({ host, token }: AdminAddress): void {
  if (token === undefined && !isLoopback(host)) throw withoutToken(host)
  if (token !== undefined && token.length < MIN_TOKEN_CHARS) throw shortToken(token)
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

/** Whether the header `host` names this machine itself. */
export function isLocalName(hostHeader: string | undefined): boolean {
  const [, name] = /^\[?([^\]]*?)\]?(?::\d+)?$/.exec(hostHeader ?? '') ?? []
  return name !== undefined && isLoopback(name.toLowerCase())
}
