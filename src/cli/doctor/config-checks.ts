import { statSync } from 'node:fs'
import { type GatewayConfig, readConfig } from '../../gateway/config/config.ts'
import { findConfigFile } from '../../gateway/config/find-file.ts'
import { readConfigFile } from '../../gateway/config/read-file.ts'
import { readSecret } from '../../gateway/config/secrets.ts'
import { HookonceError } from '../../model/errors.ts'
import { type Finding, fail, ok, warn } from '../../operate/doctor/finding.ts'
import { providerIds } from '../../sources/catalogue/index.ts'
import { secretVariable } from '../../sources/environment.ts'
import { encryptionKeysFrom, requireEncryptionKeys } from '../open-ledger.ts'

export interface CheckedFile {
  readonly findings: readonly Finding[]
  /** Undefined: there is no file, or the file has faults. */
  readonly config?: GatewayConfig | undefined
  /** The secrets that the file refers to, with their places in it. */
  readonly secrets: readonly NamedSecret[]
}

/** Checks the configuration as `hookonce serve` would. */
export async function checkConfigFile(named: string | undefined): Promise<CheckedFile> {
  const check = 'config'
  try {
    const file = named ?? findConfigFile()
    if (file === undefined)
      return {
        findings: [ok(check, 'no configuration file in this folder; only `serve` needs one')],
        secrets: [],
      }
    // Read first, so that its secrets are checked even if the rest is invalid.
    const secrets = secretsIn((await readConfigFile(file)).value)
    try {
      const config = await readConfig(file, process.env)
      const counts = `${Object.keys(config.sources).length} sources, ${config.destinations.length} destinations`
      return { findings: [ok(check, `${file} is valid: ${counts}`)], config, secrets }
    } catch (error) {
      if (!(error instanceof HookonceError)) throw error
      return { findings: [configFault(error)], secrets }
    }
  } catch (error) {
    if (!(error instanceof HookonceError)) throw error
    return { findings: [configFault(error)], secrets: [] }
  }
}

function configFault(error: HookonceError): Finding {
  const seen = error.message.replace(`${error.code}: `, '')
  return fail('config', seen, 'correct the file; `hookonce serve --check` reports the same')
}

export interface NamedSecret {
  readonly place: string
  /** A reference to a secret: `env:NAME` or `file:/path`. */
  readonly reference: string
}

/**
 * Every reference to a secret in a configuration, at any depth. The database is a URL, not a
 * reference.
 */
function secretsIn(value: unknown, place = ''): NamedSecret[] {
  if (typeof value === 'string')
    return /^(env|file):/.test(value) && place !== 'database' ? [{ place, reference: value }] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    secretsIn(inner, place === '' ? key : `${place}.${key}`),
  )
}

/**
 * The secrets that `hookonce dev` would take from the environment, and the secrets of hookonce
 * itself.
 */
function secretsOfEnvironment(env: NodeJS.ProcessEnv): NamedSecret[] {
  return [...providerIds.map(secretVariable), 'HOOKONCE_ADMIN_TOKEN']
    .filter((name) => env[name])
    .map((name) => ({ place: name, reference: `env:${name}` }))
}

/** Shorter secrets can be found by brute force, once a signed delivery is known. */
const MIN_CHARS = 16
const PLACEHOLDER =
  /change.?me|placeholder|example|your.?secret|^(whsec_|sk_test_|shpss_)?(secret|password|passwort|test|testing|todo|none|null|undefined|x+|…|\.+|<.*>|0+|1234\d*)$/i

/** Checks that secrets can be read and are not placeholders. Never prints a secret. */
export function secretFindings({ secrets, config }: CheckedFile, env: NodeJS.ProcessEnv): Finding[] {
  const check = 'secrets'
  const places = new Set(secrets.map(({ reference }) => reference))
  const all = [...secrets, ...secretsOfEnvironment(env).filter(({ reference }) => !places.has(reference))]
  const faults = all.flatMap((secret) => secretFault(secret, env))
  const encryption = encryptionKeys(config?.encryption?.key)
  if ('fault' in encryption) faults.push(encryption.fault)
  if (faults.length > 0) return faults
  if (all.length === 0)
    return [ok(check, 'none is configured; `hookonce sources <id>` names the variable of a provider')]
  return [
    ok(check, `${all.length} ${all.length === 1 ? 'is' : 'are'} set, and none looks like a placeholder`),
  ]
}

function secretFault({ place, reference }: NamedSecret, env: NodeJS.ProcessEnv): Finding[] {
  const check = 'secrets'
  const read = readSecret(reference, env)
  if (!('text' in read)) return [fail(check, `${place}: ${read.message}`, 'set it where hookonce runs')]
  const { text } = read
  if (PLACEHOLDER.test(text) || new Set(text).size === 1)
    return [fail(check, `${place} is a placeholder`, 'replace it with the secret of the provider')]
  if (text.length < MIN_CHARS)
    return [
      warn(
        check,
        `${place} has only ${text.length} characters`,
        `use at least ${MIN_CHARS} random characters`,
      ),
    ]
  if (reference.startsWith('file:') && isReadableByAll(reference.slice('file:'.length)))
    return [
      warn(check, `${place}: every user of this machine can read its file`, 'chmod 600 (or 640) the file'),
    ]
  return []
}

function isReadableByAll(file: string): boolean {
  if (process.platform === 'win32') return false
  return ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0
}

/** The keys that encrypt payloads, or their fault. */
export function encryptionKeys(
  configured: readonly string[] | undefined,
): { readonly keys: readonly string[] } | { readonly fault: Finding } {
  try {
    requireEncryptionKeys(configured)
    return { keys: configured ?? encryptionKeysFrom(process.env) }
  } catch (error) {
    if (!(error instanceof HookonceError)) throw error
    const seen = error.message.replace(`${error.code}: `, '')
    return { fault: fail('secrets', seen, 'make one with `hookonce encryption key`') }
  }
}
