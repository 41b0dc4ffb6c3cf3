import { readFile, stat } from 'node:fs/promises'
import { HookonceError } from '../../model/errors.ts'
import { type Home, hasCode, isRoot, sudoUser } from './home.ts'

/**
 * The account that runs the server if hookonce runs as root, because PostgreSQL refuses to run as
 * root.
 */
export interface Account {
  readonly uid: number
  readonly gid: number
}

/** Undefined: as ourselves. */
export async function accountFor(home: Home): Promise<Account | undefined> {
  if (!isRoot()) return undefined
  return (await ownerOfData(home)) ?? sudoUser() ?? (await systemUser('postgres')) ?? (await nobody())
}

async function ownerOfData(home: Home): Promise<Account | undefined> {
  try {
    const { uid, gid } = await stat(home.data)
    if (uid !== 0) return { uid, gid }
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  throw new HookonceError(
    'EMBEDDED_FAILED',
    `${home.data} belongs to root, and PostgreSQL refuses to run as root. Give it to an ordinary account: chown -R <account> ${home.data}`,
  )
}

async function nobody(): Promise<Account> {
  const account = await systemUser('nobody')
  if (account !== undefined) return account
  throw new HookonceError(
    'EMBEDDED_FAILED',
    'PostgreSQL refuses to run as root, and /etc/passwd has neither `postgres` nor `nobody` to run it as. Start hookonce as an ordinary user.',
  )
}

async function systemUser(name: string): Promise<Account | undefined> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n')
  const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}
