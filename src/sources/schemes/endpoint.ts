import { HookonceError } from '../../model/errors.ts'
import type { Delivery } from '../contract.ts'
import { type CheckedDescription, needsUrl } from '../description.ts'
import type { CheckedOptions } from '../options.ts'

/**
 * The configuration of a source besides its secrets: the registered URL and the provider's
 * settings.
 */
export interface Endpoint {
  readonly confirm: 'on' | 'off'
  /** The URL exactly as registered. */
  readonly registeredUrl: string
  /**
   * The URL that is registered at the provider. Proxies may have changed host and path of the
   * received URL.
   */
  urlOf(delivery: Delivery): string
  setting(name: string): string
  /** The names of keys that are always fetched. */
  readonly keyNames: readonly string[]
}

export function endpointOf(description: CheckedDescription, options: CheckedOptions): Endpoint {
  const { provider, settings } = description
  const { url, settings: configured } = options
  for (const name of Object.keys(configured)) {
    if (!Object.hasOwn(settings, name))
      throw new HookonceError(
        'CONFIG_INVALID',
        `${provider}: settings: unknown "${name}"; allowed: ${Object.keys(settings).join(', ') || 'none'}`,
      )
  }
  for (const [name, meaning] of Object.entries(settings)) {
    if (!configured[name])
      throw new HookonceError('CONFIG_INVALID', `${provider}: settings.${name} is missing: ${meaning}`)
  }
  if (url === undefined && needsUrl(description))
    throw new HookonceError(
      'CONFIG_INVALID',
      `${provider}: url is missing: this provider signs the registered URL; pass it exactly as registered`,
    )
  const { signature } = description
  if (options.keyNames.length > 0 && !(signature.algorithm === 'coded' && signature.namesKey))
    throw new HookonceError(
      'CONFIG_INVALID',
      `${provider}: keyNames: deliveries of this provider do not name a key to fetch; remove the option`,
    )
  const registered = url ?? ''
  return {
    confirm: options.confirm,
    registeredUrl: registered,
    urlOf({ url: received }) {
      const mark = received.indexOf('?')
      // A registered query is part of every delivery, so a configured query is used unchanged.
      return registered.includes('?') || mark < 0 ? registered : registered + received.slice(mark)
    },
    setting: (name) => configured[name] ?? '',
    keyNames: options.keyNames,
  }
}
