import type { PoolConfig } from 'pg'
import { HookonceError } from '../model/errors.ts'
import { sqlStateOf } from './driver/sql-state.ts'

/*
 * Explains in one line why a database cannot be opened and what to do. For most users this is the
 * first failure that they see.
 */

/** The address of the database: a URL, or the options of a pool. */
export type Reached = string | Readonly<Pick<PoolConfig, 'host' | 'port' | 'user'>>

/** Network errors, and a server that accepts no connections now (starting, stopping, full). */
const UNREACHABLE = /^(E[A-Z]+|57P0[123]|53300|08\w{3})$/
/** Errors that pg itself throws, without a code. */
const TIMED_OUT = /timeout|Connection terminated/i
const NO_PASSWORD = /password must be a string/
const NO_TLS = /does not support SSL/

/**
 * Converts an error from opening a database into an error of the catalogue. Returns unknown errors
 * unchanged.
 */
export function openFailure(error: unknown, reached: Reached): unknown {
  if (error instanceof HookonceError) return error
  // For a host with several addresses, Node throws one error per address.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  const says = first instanceof Error ? first.message : String(first)
  const { address, user } = named(reached)
  const because = (code: 'DATABASE_UNREACHABLE' | 'DATABASE_REFUSED', detail: string) =>
    new HookonceError(code, detail, { cause: error })
  switch (sqlStateOf(first)) {
    case '28P01':
    case '28000':
      return because('DATABASE_REFUSED', `${says}; correct the user and the password in DATABASE_URL`)
    case '3D000':
      return because('DATABASE_REFUSED', `${says}; create it, or correct its name in DATABASE_URL`)
    case '42501':
      return because(
        'DATABASE_REFUSED',
        `the role ${user} lacks a privilege (${says}); grant it, or run \`hookonce migrate\` as a role that may create schemas and set migrate: 'off' here`,
      )
  }
  if (NO_PASSWORD.test(says))
    return because('DATABASE_REFUSED', `the server at ${address} requires a password; add it to DATABASE_URL`)
  if (NO_TLS.test(says))
    return because(
      'DATABASE_REFUSED',
      `the server at ${address} does not support TLS; remove sslmode from DATABASE_URL, or enable TLS on the server`,
    )
  if (UNREACHABLE.test(sqlStateOf(first)) || TIMED_OUT.test(says))
    return because(
      'DATABASE_UNREACHABLE',
      `cannot connect to the database at ${address} (${says}); start the server, or correct DATABASE_URL`,
    )
  return error
}

/** Returns address and user for messages, never the password. */
function named(reached: Reached): { address: string; user: string } {
  if (typeof reached !== 'string') return words(reached.host, reached.port, reached.user)
  if (!URL.canParse(reached)) return words(undefined, undefined, undefined)
  const { hostname, port, username } = new URL(reached)
  return words(hostname, port, decodeURIComponent(username))
}

function words(host: string | undefined, port: string | number | undefined, user: string | undefined) {
  return {
    address: `${host || 'localhost'}:${port || 5432}`,
    user: user ? `"${user}"` : 'of this connection',
  }
}
