import { change, type Queryable, rows, statement } from '../driver/statement.ts'

const TOKEN = `t.id, t.name, t.role, t.tenant, t.bodies, t.created_at as "createdAt", t.created_by as "createdBy",
     t.expires_at as "expiresAt", t.revoked_at as "revokedAt", t.used_at as "usedAt"`

/* A revoked or expired token counts as absent. */
const IS_LIVE = `t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`

export interface TokenRow {
  readonly id: string
  readonly name: string
  readonly role: string
  /** Null: every tenant. */
  readonly tenant: string | null
  /** Whether it may read bodies, headers and payloads. */
  readonly bodies: boolean
  readonly createdAt: Date
  readonly createdBy: string
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  /** To the minute. */
  readonly usedAt: Date | null
}

const ADD_TOKEN = statement(
  'add_token',
  `insert into ledger.token as t (name, role, tenant, bodies, created_by, expires_at, hash)
   values ($1, $2, $3, $4::boolean, $5, $6::timestamptz, $7::bytea)
   on conflict (name) where revoked_at is null do nothing
   returning ${TOKEN}`,
)

export interface NewToken
  extends Pick<TokenRow, 'name' | 'role' | 'tenant' | 'bodies' | 'createdBy' | 'expiresAt'> {
  /** SHA-256 of the token. */
  readonly hash: Buffer
}

/** Undefined: a token of this name already exists. */
export async function addToken(db: Queryable, token: NewToken): Promise<TokenRow | undefined> {
  const { name, role, tenant, bodies, createdBy, expiresAt, hash } = token
  const [added] = await rows<TokenRow>(db, ADD_TOKEN, [
    name,
    role,
    tenant,
    bodies,
    createdBy,
    expiresAt,
    hash,
  ])
  return added
}

const FIND_TOKEN = statement(
  'find_token',
  `select ${TOKEN} from ledger.token t where t.hash = $1::bytea and ${IS_LIVE}`,
)

/** The live token with this hash. */
export async function findToken(db: Queryable, hash: Buffer): Promise<TokenRow | undefined> {
  const [found] = await rows<TokenRow>(db, FIND_TOKEN, [hash])
  return found
}

const USE_TOKEN = statement(
  'use_token',
  `update ledger.token set used_at = date_trunc('minute', now())
   where id = $1::uuid and used_at is distinct from date_trunc('minute', now())`,
)

export async function markTokenUsed(db: Queryable, id: string): Promise<void> {
  await change(db, USE_TOKEN, [id])
}

const LIST_TOKENS = statement(
  'list_tokens',
  `select ${TOKEN} from ledger.token t
   where $1::boolean or (t.revoked_at is null)
   order by t.created_at desc, t.id limit $2::integer`,
)

/** The newest first. */
export async function readTokens(
  db: Queryable,
  { revoked, limit }: { readonly revoked: boolean; readonly limit: number },
): Promise<TokenRow[]> {
  return rows(db, LIST_TOKENS, [revoked, limit])
}

const REVOKE_TOKEN = statement(
  'revoke_token',
  `with ended as (
     delete from ledger.session s using ledger.token t
     where s.token = t.id and t.revoked_at is null and (t.id::text = $1 or t.name = $1)
   )
   update ledger.token t set revoked_at = now()
   where t.revoked_at is null and (t.id::text = $1 or t.name = $1)
   returning ${TOKEN}`,
)

/** Revokes the live token with this id or name, and ends its sessions. Undefined: there is none. */
export async function revokeToken(db: Queryable, idOrName: string): Promise<TokenRow | undefined> {
  const [revoked] = await rows<TokenRow>(db, REVOKE_TOKEN, [idOrName])
  return revoked
}

/* Each log-in adds a session, and also removes expired sessions. */
const SWEEP_SESSIONS = statement(
  'sweep_sessions',
  `delete from ledger.session where hash in (
     select hash from ledger.session where expires_at <= now() order by expires_at limit 100)`,
)

const ADD_SESSION = statement(
  'add_session',
  `insert into ledger.session (hash, token, expires_at)
   values ($1::bytea, $2::uuid, now() + $3::float8 * interval '1 millisecond')
   returning expires_at as "expiresAt"`,
)

export interface NewSession {
  readonly hash: Buffer
  /** Undefined: the token in the gateway's environment. */
  readonly token: string | undefined
  readonly lifeMs: number
}

export async function addSession(db: Queryable, { hash, token, lifeMs }: NewSession): Promise<Date> {
  await change(db, SWEEP_SESSIONS)
  const [added] = await rows<{ expiresAt: Date }>(db, ADD_SESSION, [hash, token ?? null, lifeMs])
  if (!added) throw new Error('the ledger added no session')
  return added.expiresAt
}

const FIND_SESSION = statement(
  'find_session',
  `select s.expires_at as "sessionEnds", s.token is null as "isEnvironment", ${TOKEN}
   from ledger.session s left join ledger.token t on t.id = s.token and ${IS_LIVE}
   where s.hash = $1::bytea and s.expires_at > now() and (s.token is null or t.id is not null)`,
)

/** A live session. Its token is undefined if it is the one in the gateway's environment. */
export interface FoundSession {
  readonly expiresAt: Date
  readonly token: TokenRow | undefined
}

export async function findSession(db: Queryable, hash: Buffer): Promise<FoundSession | undefined> {
  type Row = TokenRow & { readonly sessionEnds: Date; readonly isEnvironment: boolean }
  const [found] = await rows<Row>(db, FIND_SESSION, [hash])
  if (!found) return undefined
  const { sessionEnds, isEnvironment, ...token } = found
  return { expiresAt: sessionEnds, token: isEnvironment ? undefined : token }
}

const END_SESSION = statement('end_session', `delete from ledger.session where hash = $1::bytea`)

export async function endSession(db: Queryable, hash: Buffer): Promise<void> {
  await change(db, END_SESSION, [hash])
}
