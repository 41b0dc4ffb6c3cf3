import { Socket } from 'node:net'
import pg from 'pg'
import { HookonceError } from '../../model/errors.ts'
import { superuser } from './data-directory.ts'
import { hasCode } from './home.ts'
import { host } from './port.ts'

/**
 * The server itself counts its users: each user holds a shared advisory lock on its own connection.
 * A killed user loses its connection and so the lock, so the count is never wrong. A leaving user
 * that gets the exclusive lock was the last one. While it holds that lock nobody can join, so
 * nobody joins a server that is about to stop.
 */
export interface Membership {
  /** Leaves. If there is no other user, `last` runs while nobody can join. */
  leave(last: () => Promise<void>): Promise<void>
}

export interface Address {
  readonly port: number
  readonly password: string
}

// In the database `postgres`, not `hookonce`: a session in `hookonce` would keep it from being used
// as a template, and its advisory locks belong to the ledger. The number is "hook" in ASCII.
const database = 'postgres'
const lockKey = 0x68_6f_6f_6b

const askToJoin = `select current_setting('data_directory') as "dataDir", pg_try_advisory_lock_shared(${lockKey}) as joined`
const giveUp = `select pg_advisory_unlock_shared(${lockKey})`
const askToBeAlone = `select pg_try_advisory_lock(${lockKey}) as alone`

/**
 * Undefined while the server accepts no users: it is starting or stopping, or its last user is
 * about to stop it.
 */
export async function join(address: Address, dataDir: string): Promise<Membership | undefined> {
  const session = await connect(address)
  if (session === undefined) return undefined
  try {
    const { rows } = await session.client.query<{ dataDir: string; joined: boolean }>(askToJoin)
    const [answer] = rows
    if (answer?.dataDir !== dataDir) throw otherServer(address, dataDir, answer?.dataDir)
    if (answer.joined) {
      session.socket.unref()
      return { leave: (last) => leave(session, address, last) }
    }
  } catch (error) {
    if (!isGone(error)) {
      await session.client.end()
      throw error
    }
  }
  await session.client.end()
  return undefined
}

interface Session {
  readonly client: pg.Client
  /**
   * A separate client, so that it can be unreferenced: a membership alone must not keep the process
   * running.
   */
  readonly socket: Socket
  readonly state: { lost: boolean }
}

async function leave(joined: Session, address: Address, last: () => Promise<void>): Promise<void> {
  // The lock was lost with its connection: checks only whether there are other users.
  const session = joined.state.lost ? await connect(address) : joined
  if (session === undefined) return
  session.socket.ref()
  try {
    if (session === joined) await session.client.query(giveUp)
    const { rows } = await session.client.query<{ alone: boolean }>(askToBeAlone)
    if (rows[0]?.alone === true) await last()
  } catch (error) {
    // Another user stopped the server, or it crashed: there is nothing left to leave.
    if (!isGone(error)) throw error
  } finally {
    await session.client.end()
  }
}

/** Undefined if no server answers. */
async function connect(address: Address): Promise<Session | undefined> {
  const socket = new Socket()
  const state = { lost: false }
  const client = new pg.Client({
    host,
    port: address.port,
    user: superuser,
    password: address.password,
    database,
    // Set explicitly, so that the user's PGSSLMODE and PGOPTIONS have no effect here.
    ssl: false,
    options: '-c idle_session_timeout=0',
    application_name: 'hookonce membership',
    // A server on this machine that does not answer within 10 s is frozen, not busy.
    connectionTimeoutMillis: 10_000,
    stream: () => socket,
  })
  // Without a listener the loss of the connection would end the process.
  client.on('error', () => {
    state.lost = true
  })
  client.on('end', () => {
    state.lost = true
  })
  try {
    await client.connect()
  } catch (error) {
    socket.destroy()
    if (isGone(error)) return undefined
    throw hasCode(error, '28P01') ? wrongPassword(address, error) : error
  }
  return { client, socket, state }
}

function isGone(error: unknown): boolean {
  // 57P0x: PostgreSQL is shutting down, crashed, or does not take connections yet.
  if (hasCode(error, 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P02', '57P03')) return true
  // pg gives these no code.
  return (
    error instanceof Error &&
    /^(Connection terminated( unexpectedly)?$|Client has encountered a connection error|Client was closed)/.test(
      error.message,
    )
  )
}

function otherServer(address: Address, dataDir: string, other: string | undefined): HookonceError {
  return new HookonceError(
    'EMBEDDED_FAILED',
    `the server on ${host}:${address.port} serves ${other}, not ${dataDir}. If the directory was moved while its server ran, stop that server first.`,
  )
}

function wrongPassword(address: Address, cause: unknown): HookonceError {
  return new HookonceError(
    'EMBEDDED_FAILED',
    `the embedded PostgreSQL on ${host}:${address.port} refuses the password in the file \`password\` beside its data. Restore the file; or stop the server and remove the file, and the next start sets a new password.`,
    { cause },
  )
}
