import type { ProviderApi } from './api.ts'
import type { ListWindow, OpenList, ProviderList } from './contract.ts'
import { githubList } from './github.ts'
import type { CheckedOptions } from './options.ts'
import { shopifyList } from './shopify.ts'
import { stripeList } from './stripe.ts'

/** The list of one provider, with its options. */
export interface ConfiguredList extends Omit<ProviderList<never>, 'apiUrl' | 'headers' | 'open'> {
  readonly apiUrl: string
  readonly headers: Readonly<Record<string, string>>
  open(api: ProviderApi, window: ListWindow): Promise<OpenList>
}

export function configuredList(given: CheckedOptions): ConfiguredList {
  if (given.provider === 'stripe') return configured(stripeList, given.options)
  if (given.provider === 'github') return configured(githubList, given.options)
  return configured(shopifyList, given.options)
}

function configured<Options extends { readonly apiUrl?: string | undefined }>(
  list: ProviderList<Options>,
  options: Options,
): ConfiguredList {
  return {
    ...list,
    apiUrl: options.apiUrl ?? list.apiUrl(options),
    headers: list.headers(options),
    open: (api, window) => list.open(api, window, options),
  }
}
