import { readFileSync } from 'node:fs'
import { HookonceError } from '../../model/errors.ts'

/* The configuration refers to secrets as `env:NAME` or `file:/path`, and never contains them. */

/**
 * The reason why a reference to a secret is wrong. Never quotes the reference, which may be a
 * secret.
 */
export interface SecretFault {
  readonly code: 'CONFIG_INVALID' | 'SECRET_MISSING'
  readonly message: string
}

/** The secret, or the reason why it cannot be read. */
export function readSecret(
  reference: string,
  env: NodeJS.ProcessEnv,
): { readonly text: string } | SecretFault {
  const [scheme, ...rest] = reference.split(':')
  const name = rest.join(':')
  if (scheme === 'env') {
    const text = env[name]
    if (text) return { text }
    return { code: 'SECRET_MISSING', message: `the environment variable ${name} is empty or not set` }
  }
  if (scheme === 'file') {
    try {
      return { text: readFileSync(name, 'utf8').trim() }
    } catch {
      return { code: 'SECRET_MISSING', message: `${name} cannot be read` }
    }
  }
  return {
    code: 'CONFIG_INVALID',
    message: 'pass the secret as "env:NAME" or "file:/path"; the secret itself does not belong here',
  }
}

/** Resolves a reference in an option of the command line. */
export function resolveSecret(reference: string, where: string, env: NodeJS.ProcessEnv): string {
  const read = readSecret(reference, env)
  if ('text' in read) return read.text
  throw new HookonceError(read.code, `${where}: ${read.message}`)
}

/** Secret files are read again while the gateway runs, so a rotated secret needs no restart. */
export function secretPlace(reference: string, text: string): string | { readonly file: string } {
  return reference.startsWith('file:') ? { file: reference.slice('file:'.length) } : text
}
