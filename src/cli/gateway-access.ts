import { readSecret } from '../gateway/config/secrets.ts'
import { HookonceError } from '../model/errors.ts'
import { type Command, usageError } from './command.ts'

/* The options of the commands that call the admin API of a gateway: `listen` and `mcp`. */

/** The admin listener that `--from` names, without a slash at the end. */
export function gatewayAt(command: Pick<Command, 'usage'>, text: string): string {
  const url = httpUrl(command, '--from', text)
  if (url.search !== '' || url.hash !== '')
    throw usageError(command, '--from must have no query and no fragment')
  const isClear = url.protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname)
  if (isClear) process.stderr.write('the token and the bodies travel in clear text: use https\n')
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

/** The URL is not quoted, because it may hold a password. */
export function httpUrl(command: Pick<Command, 'usage'>, option: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && (url.username !== '' || url.password !== ''))
    throw usageError(command, `${option} must hold no user and no password`)
  if (url && /^https?:$/.test(url.protocol)) return url
  throw usageError(
    command,
    `${option} must be a URL of http or https${text.includes('@') ? '' : `, not "${text}"`}`,
  )
}

/** Undefined: no token was given. A listener on loopback may need none. */
export function tokenOf(reference: string | undefined): string | undefined {
  if (reference !== undefined) return secretOf('--token', reference)
  return process.env.HOOKONCE_TOKEN || undefined
}

export function secretOf(option: string, reference: string): string {
  const read = readSecret(reference, process.env)
  if ('text' in read && /^[\u0021-\u007e]+$/.test(read.text)) return read.text
  const fault =
    'text' in read
      ? 'it is empty, or contains spaces or other characters that a token cannot have'
      : read.message
  throw new HookonceError('CONFIG_INVALID', `${option}: ${fault}`)
}

/**
 * `fetch` with a timeout per request, aborted when `stop` is aborted. Uses a timer, because a
 * garbage collection can remove AbortSignal.timeout() inside AbortSignal.any().
 */
export function fetchWithin(timeoutMs: number, stop: AbortSignal): typeof fetch {
  return (input, init) => {
    const late = new AbortController()
    setTimeout(() => late.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs).unref()
    const given = init?.signal ? [init.signal] : []
    return fetch(input, { ...init, signal: AbortSignal.any([...given, stop, late.signal]) })
  }
}
