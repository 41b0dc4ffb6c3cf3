import { createHash, randomBytes } from 'node:crypto'
import { didYouMean } from '../input/closest.ts'
import {
  addSession,
  addToken,
  endSession,
  findSession,
  findToken,
  markTokenUsed,
  readTokens,
  revokeToken as revoke,
  type TokenRow,
} from '../ledger/access/tokens.ts'
import { inTransaction } from '../ledger/driver/in-transaction.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { ALL_TENANTS, recordAudit } from '../ledger/read/audit.ts'
import { HookonceError } from '../model/errors.ts'
import { atHome } from './across.ts'
import type { DecisionReason } from './audit.ts'

/*
 * Tokens of the admin API. A token is 256 random bits, so storing a plain SHA-256 of it is safe:
 * slow hashes protect secrets that can be guessed, and would only make each request slow.
 */

/** From the fewest rights to the most: each role includes the rights of those before it. */
export const roles = ['viewer', 'operator', 'admin'] as const

export type Role = (typeof roles)[number]

export interface Token extends Omit<TokenRow, 'role'> {
  readonly role: Role
}

/** Lets scanners for leaked secrets recognise a token. */
const PREFIX = 'hko_'
const TOKEN = /^hko_[A-Za-z0-9_-]{43}$/

/** Whether a text has the form of a token. */
export function isTokenText(text: string): boolean {
  return TOKEN.test(text)
}

export interface TokenRequest {
  /** Unique among the tokens that are not revoked, because the audit names it. */
  readonly name: string
  readonly role: Role
  /** Undefined: every tenant. */
  readonly tenant?: string | undefined
  /** Whether it may read bodies, headers and payloads. Undefined: all roles except viewer may. */
  readonly bodies?: boolean | undefined
  readonly expiresAt?: Date | undefined
}

export interface CreatedToken extends Token {
  /** The token itself. It is not stored, so this is the only time it is returned. */
  readonly token: string
}

async function createIn(
  { pool }: LedgerTables,
  request: TokenRequest,
  reason: DecisionReason,
): Promise<CreatedToken> {
  const { name, role, tenant, bodies = role !== 'viewer', expiresAt } = request
  if (!/^[\w.@-]{1,64}$/.test(name))
    throw new HookonceError(
      'CONFIG_INVALID',
      `the name of a token has 1 to 64 letters, digits and . _ @ -, and is not "${name}"`,
    )
  // `revokeToken` takes an id or a name: a name that is the id of another token would revoke both.
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(name))
    throw new HookonceError(
      'CONFIG_INVALID',
      `the name of a token must not look like an id, as "${name}" does`,
    )
  if (expiresAt !== undefined && expiresAt.getTime() <= Date.now())
    throw new HookonceError('CONFIG_INVALID', 'the token would already have expired; choose a later time')
  const token = `${PREFIX}${randomBytes(32).toString('base64url')}`
  return inTransaction(pool, async (client) => {
    const row = {
      name,
      role,
      tenant: tenant ?? null,
      bodies,
      createdBy: reason.by,
      expiresAt: expiresAt ?? null,
      hash: hashOf(token),
    }
    const added = await addToken(client, row)
    if (!added)
      throw new HookonceError(
        'TOKEN_EXISTS',
        `a token named "${name}" already exists; choose another name, or revoke that one`,
      )
    await recordAudit(client, {
      actor: reason.by,
      action: 'create-token',
      why: reason.why,
      tenant: tenant ?? ALL_TENANTS,
      subject: `token ${name}`,
      detail: { id: added.id, role, tenant: tenant ?? null, bodies, expiresAt: expiresAt ?? null },
      address: reason.address,
    })
    await client.query('commit')
    return { ...tokenOf(added), token }
  })
}

/** Creates a token. One commit holds the token and the audit entry. */
export const createToken = atHome(createIn)

/** The maximum number of listed tokens. Tokens are made by hand, so a ledger has few. */
const MAX_TOKENS = 1_000

async function tokensIn(
  { pool }: LedgerTables,
  { revoked = false }: { readonly revoked?: boolean | undefined } = {},
): Promise<Token[]> {
  return (await readTokens(pool, { revoked, limit: MAX_TOKENS })).map(tokenOf)
}

/** Lists the tokens, newest first, without the tokens themselves. */
export const listTokens = atHome(tokensIn)

async function revokeIn({ pool }: LedgerTables, idOrName: string, reason: DecisionReason): Promise<Token> {
  return inTransaction(pool, async (client) => {
    const revoked = await revoke(client, idOrName)
    if (!revoked) {
      const names = (await readTokens(client, { revoked: false, limit: MAX_TOKENS })).map(({ name }) => name)
      const fault = `no token "${idOrName}" is in use${didYouMean(idOrName, names)}`
      throw new HookonceError('TOKEN_UNKNOWN', fault)
    }
    await recordAudit(client, {
      actor: reason.by,
      action: 'revoke-token',
      why: reason.why,
      tenant: revoked.tenant ?? ALL_TENANTS,
      subject: `token ${revoked.name}`,
      detail: { id: revoked.id },
      address: reason.address,
    })
    await client.query('commit')
    return tokenOf(revoked)
  })
}

/** Revokes a token by its id or name. The token and its sessions are refused from then on. */
export const revokeToken = atHome(revokeIn)

async function tokenIn({ pool }: LedgerTables, text: string): Promise<Token | undefined> {
  if (!isTokenText(text)) return undefined
  const found = await findToken(pool, hashOf(text))
  if (!found) return undefined
  if (found.usedAt === null || Date.now() - found.usedAt.getTime() > MINUTE_MS)
    await markTokenUsed(pool, found.id)
  return tokenOf(found)
}

/** The live token with this text. Records that it was used. */
export const readToken = atHome(tokenIn)

const MINUTE_MS = 60_000

/** A working day with some margin. */
const SESSION_MS = 12 * 3_600_000

export interface OpenedSession {
  /** The value of the cookie. Only its hash is stored. */
  readonly secret: string
  readonly expiresAt: Date
}

async function openSessionIn(
  { pool }: LedgerTables,
  owner: { readonly tokenId: string } | { readonly environmentToken: string },
): Promise<OpenedSession> {
  const secret = randomBytes(32).toString('base64url')
  const isStored = 'tokenId' in owner
  const hash = isStored ? hashOf(secret) : environmentHash(secret, owner.environmentToken)
  const token = isStored ? owner.tokenId : undefined
  return { secret, expiresAt: await addSession(pool, { hash, token, lifeMs: SESSION_MS }) }
}

/** Opens a session of a stored token, or of the token in the environment. */
export const openSession = atHome(openSessionIn)

/** A live session of a stored token, or of the token in the environment. */
export interface Session {
  readonly token: Token | 'environment'
  readonly expiresAt: Date
}

async function sessionIn(
  { pool }: LedgerTables,
  secret: string,
  environmentToken: string | undefined,
): Promise<Session | undefined> {
  const found = await findSession(pool, hashOf(secret))
  if (found?.token) return { token: tokenOf(found.token), expiresAt: found.expiresAt }
  if (environmentToken === undefined) return undefined
  const ofEnvironment = await findSession(pool, environmentHash(secret, environmentToken))
  if (!ofEnvironment || ofEnvironment.token) return undefined
  return { token: 'environment', expiresAt: ofEnvironment.expiresAt }
}

/**
 * `environmentToken` is the current token of the gateway. Sessions of an earlier token have ended.
 */
export const readSession = atHome(sessionIn)

async function closeSessionIn(
  { pool }: LedgerTables,
  secret: string,
  environmentToken: string | undefined,
): Promise<void> {
  await endSession(pool, hashOf(secret))
  if (environmentToken !== undefined) await endSession(pool, environmentHash(secret, environmentToken))
}

export const closeSession = atHome(closeSessionIn)

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** A new token in the environment has another hash, which ends the sessions of the old token. */
function environmentHash(secret: string, environmentToken: string): Buffer {
  return createHash('sha256').update(`${secret}\0${environmentToken}`).digest()
}

function tokenOf({ role, ...row }: TokenRow): Token {
  const known = roles.find((one) => one === role)
  // Fails closed: a role of a newer version has no rights.
  if (!known) throw new HookonceError('FORBIDDEN', `the token "${row.name}" has the unknown role "${role}"`)
  return { ...row, role: known }
}
