import type { Provider } from '../provider.ts'

/*
 * The catalogue: every provider by its id, loaded when it is asked for. A process that names two providers loads two.
 * One line a provider, in alphabetical order; its module exports the factory.
 */
const catalogue = {
  adyen: () => import('./adyen.ts'),
  aftership: () => import('./aftership.ts'),
  asana: () => import('./asana.ts'),
  'aws-sns': () => import('./aws-sns.ts'),
  buildkite: () => import('./buildkite.ts'),
  cloudinary: () => import('./cloudinary.ts'),
  discord: () => import('./discord.ts'),
  'docker-hub': () => import('./docker-hub.ts'),
  dropbox: () => import('./dropbox.ts'),
  easypost: () => import('./easypost.ts'),
  elevenlabs: () => import('./elevenlabs.ts'),
  github: () => import('./github.ts'),
  gitlab: () => import('./gitlab.ts'),
  grafana: () => import('./grafana.ts'),
  hubspot: () => import('./hubspot.ts'),
  lemonsqueezy: () => import('./lemonsqueezy.ts'),
  mailgun: () => import('./mailgun.ts'),
  meta: () => import('./meta.ts'),
  'microsoft-graph': () => import('./microsoft-graph.ts'),
  mux: () => import('./mux.ts'),
  netlify: () => import('./netlify.ts'),
  'npm-hooks': () => import('./npm-hooks.ts'),
  nylas: () => import('./nylas.ts'),
  onfido: () => import('./onfido.ts'),
  paddle: () => import('./paddle.ts'),
  persona: () => import('./persona.ts'),
  postmark: () => import('./postmark.ts'),
  sendgrid: () => import('./sendgrid.ts'),
  shipstation: () => import('./shipstation.ts'),
  shopify: () => import('./shopify.ts'),
  slack: () => import('./slack.ts'),
  square: () => import('./square.ts'),
  'standard-webhooks': () => import('./standard-webhooks.ts'),
  stripe: () => import('./stripe.ts'),
  svix: () => import('./svix.ts'),
  'tiktok-shop': () => import('./tiktok-shop.ts'),
  twilio: () => import('./twilio.ts'),
  twitch: () => import('./twitch.ts'),
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
