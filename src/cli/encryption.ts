import { randomBytes } from 'node:crypto'
import {
  forgetTenant,
  type ListedDataKey,
  listEncryptionKeys,
  rotateEncryption,
} from '../operate/encryption.ts'
import { actorOf } from './actor.ts'
import { unknownVerb } from './choices.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce encryption [--json] [--dir DIR]
hookonce encryption key [--json]
hookonce encryption rotate --why TEXT [--by NAME] [--json] [--dir DIR]
hookonce encryption forget --tenant NAME --why TEXT --yes [--hashes] [--by NAME] [--json] [--dir DIR]

The bodies and headers of a tenant are encrypted with its data key. The data key is stored, wrapped by the key in
HOOKONCE_ENCRYPTION_KEY. Without a verb, lists the data keys.

  key      prints a new random key for HOOKONCE_ENCRYPTION_KEY
  rotate   wraps every data key by the first of the keys in HOOKONCE_ENCRYPTION_KEY=new,old
  forget   drops the data key of a tenant: its encrypted bodies and headers cannot be read again, by anyone

--hashes also drops the key of the tenant's hashes. Use it if the key in HOOKONCE_ENCRYPTION_KEY is lost: the tenant then
starts anew with another one. Repeats of older events are still recognised, but count as mismatches.

Repeats are still recognised after forget, and new events get a new key. Jobs that still need a forgotten body fail with
PAYLOAD_FORGOTTEN. \`hookonce audit\` shows who decided (--by, else your user name), when and why.`

const options = {
  ...ledgerOptions,
  tenant: { type: 'string' },
  by: { type: 'string' },
  why: { type: 'string' },
  yes: { type: 'boolean', default: false },
  hashes: { type: 'boolean', default: false },
} as const

export const encryption: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 1 }, args, options)
    const [verb] = positionals
    if (verb === undefined) return list(values)
    if (verb === 'key') return printNewKey(values)
    if (verb === 'rotate') return rotate(values)
    if (verb === 'forget') return forget(values)
    throw unknownVerb({ usage }, verb, ['key', 'rotate', 'forget'])
  },
}

function printNewKey({ json }: Pick<Values, 'json'>): void {
  const key = randomBytes(32).toString('base64')
  if (json) printJson({ key })
  else print(key)
}

interface Values {
  readonly dir: string
  readonly json: boolean
  readonly tenant?: string | undefined
  readonly by?: string | undefined
  readonly why?: string | undefined
  readonly yes: boolean
  readonly hashes: boolean
}

async function list({ dir, json }: Values): Promise<void> {
  const keys = await withLedger(dir, (ledger) => listEncryptionKeys(ledger))
  if (json) return printJson(keys)
  if (keys.length === 0) return print('nothing in this ledger is encrypted')
  print(table(['TENANT', 'DATA KEY', 'FOR', 'CREATED', 'WRAPPED BY', 'STATE'], keys.map(cells)))
}

function cells({ tenant, id, purpose, createdAt, master, forgottenAt, isOpen }: ListedDataKey): string[] {
  const use = purpose === 'hash' ? 'hashes' : 'payloads'
  return [safe(tenant), String(id), use, clock(createdAt), master, stateText(forgottenAt, isOpen)]
}

function stateText(forgottenAt: Date | null, isOpen: boolean): string {
  if (forgottenAt) return `forgotten ${clock(forgottenAt)}`
  return isOpen ? 'open' : 'locked: its key is not in HOOKONCE_ENCRYPTION_KEY'
}

async function rotate({ dir, json, ...values }: Values): Promise<void> {
  const reason = reasonOf(values)
  const rotated = await withLedger(dir, (ledger) => rotateEncryption(ledger, reason))
  if (json) return printJson(rotated)
  const { master, rewrapped } = rotated
  print(`${countText(rewrapped)} rewrapped; the key ${master} now wraps all of them`)
}

async function forget({ dir, json, tenant, yes, hashes, ...values }: Values): Promise<void> {
  if (tenant === undefined) throw usageError({ usage }, 'give the tenant with --tenant')
  const reason = reasonOf(values)
  if (!yes) {
    const fault = `\`encryption forget\` makes every encrypted body and header of tenant "${tenant}" unreadable, for good; confirm with --yes`
    throw usageError({ usage }, fault)
  }
  const forgotten = await withLedger(dir, (ledger) => forgetTenant(ledger, { tenant, hashes }, reason))
  if (json) return printJson(forgotten)
  print(`the data key of ${safe(tenant)} is dropped: its encrypted payloads cannot be read again`)
}

function reasonOf({ why, by }: Pick<Values, 'why' | 'by'>): {
  readonly by: string
  readonly why: string
} {
  if (!why) throw usageError({ usage }, 'give the reason with --why: the audit records it')
  return { by: actorOf(by), why }
}

function countText(count: number): string {
  return count === 1 ? '1 data key was' : `${count} data keys were`
}
