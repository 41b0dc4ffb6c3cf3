import type { Provider } from '../provider.ts'

/*
 * The catalogue: every provider by its id, loaded when it is asked for. A process that names two providers loads two.
 * One line a provider, in alphabetical order; its module exports the factory.
 */
const catalogue = {
  adyen: () => import('./adyen.ts'),
  asana: () => import('./asana.ts'),
  'aws-sns': () => import('./aws-sns.ts'),
  discord: () => import('./discord.ts'),
  dropbox: () => import('./dropbox.ts'),
  github: () => import('./github.ts'),
  gitlab: () => import('./gitlab.ts'),
  hubspot: () => import('./hubspot.ts'),
  lemonsqueezy: () => import('./lemonsqueezy.ts'),
  mailgun: () => import('./mailgun.ts'),
  meta: () => import('./meta.ts'),
  'microsoft-graph': () => import('./microsoft-graph.ts'),
  netlify: () => import('./netlify.ts'),
  paddle: () => import('./paddle.ts'),
  postmark: () => import('./postmark.ts'),
  sendgrid: () => import('./sendgrid.ts'),
  shopify: () => import('./shopify.ts'),
  slack: () => import('./slack.ts'),
  square: () => import('./square.ts'),
  'standard-webhooks': () => import('./standard-webhooks.ts'),
  stripe: () => import('./stripe.ts'),
  svix: () => import('./svix.ts'),
  twilio: () => import('./twilio.ts'),
  x: () => import('./x.ts'),
  zoom: () => import('./zoom.ts'),
} satisfies Record<string, () => Promise<Readonly<Record<string, unknown>>>>

/** The ids of all providers, in alphabetical order. */
export const providerIds: readonly string[] = Object.keys(catalogue)

/** The provider of an id; nothing, where the catalogue has none of that name. */
export async function findProvider(id: string): Promise<Provider | undefined> {
  if (!Object.hasOwn(catalogue, id)) return undefined
  const exported = Object.values(await catalogue[id as keyof typeof catalogue]())
  return exported.find((value): value is Provider => isProvider(value) && value.description.provider === id)
}

function isProvider(value: unknown): value is Provider {
  return typeof value === 'function' && 'description' in value
}
