import type { Provider } from '../provider.ts'

/*
 * The catalogue: every provider by its id, loaded when it is asked for. A process that names two providers loads two.
 * One line a provider, in alphabetical order; its module exports the factory.
 */
const catalogue = {
  adyen: () => import('./adyen.ts'),
  aftership: () => import('./aftership.ts'),
  alchemy: () => import('./alchemy.ts'),
  asana: () => import('./asana.ts'),
  attentive: () => import('./attentive.ts'),
  attio: () => import('./attio.ts'),
  'aws-sns': () => import('./aws-sns.ts'),
  brex: () => import('./brex.ts'),
  buildkite: () => import('./buildkite.ts'),
  'cal-com': () => import('./cal-com.ts'),
  cashfree: () => import('./cashfree.ts'),
  cloudinary: () => import('./cloudinary.ts'),
  cursor: () => import('./cursor.ts'),
  discord: () => import('./discord.ts'),
  'docker-hub': () => import('./docker-hub.ts'),
  dropbox: () => import('./dropbox.ts'),
  'dropbox-sign': () => import('./dropbox-sign.ts'),
  easypost: () => import('./easypost.ts'),
  elevenlabs: () => import('./elevenlabs.ts'),
  etsy: () => import('./etsy.ts'),
  fireblocks: () => import('./fireblocks.ts'),
  gemini: () => import('./gemini.ts'),
  github: () => import('./github.ts'),
  gitlab: () => import('./gitlab.ts'),
  grafana: () => import('./grafana.ts'),
  gumroad: () => import('./gumroad.ts'),
  hook0: () => import('./hook0.ts'),
  hookdeck: () => import('./hookdeck.ts'),
  hubspot: () => import('./hubspot.ts'),
  huggingface: () => import('./huggingface.ts'),
  knock: () => import('./knock.ts'),
  lemonsqueezy: () => import('./lemonsqueezy.ts'),
  linkedin: () => import('./linkedin.ts'),
  lithic: () => import('./lithic.ts'),
  livekit: () => import('./livekit.ts'),
  loops: () => import('./loops.ts'),
  mailgun: () => import('./mailgun.ts'),
  mercadopago: () => import('./mercadopago.ts'),
  messagebird: () => import('./messagebird.ts'),
  meta: () => import('./meta.ts'),
  'microsoft-graph': () => import('./microsoft-graph.ts'),
  'modern-treasury': () => import('./modern-treasury.ts'),
  mux: () => import('./mux.ts'),
  netlify: () => import('./netlify.ts'),
  'npm-hooks': () => import('./npm-hooks.ts'),
  nylas: () => import('./nylas.ts'),
  onfido: () => import('./onfido.ts'),
  onfleet: () => import('./onfleet.ts'),
  orb: () => import('./orb.ts'),
  paddle: () => import('./paddle.ts'),
  patreon: () => import('./patreon.ts'),
  persona: () => import('./persona.ts'),
  picqer: () => import('./picqer.ts'),
  postmark: () => import('./postmark.ts'),
  recharge: () => import('./recharge.ts'),
  render: () => import('./render.ts'),
  retell: () => import('./retell.ts'),
  revolut: () => import('./revolut.ts'),
  sendcloud: () => import('./sendcloud.ts'),
  sendgrid: () => import('./sendgrid.ts'),
  shipstation: () => import('./shipstation.ts'),
  shopify: () => import('./shopify.ts'),
  slack: () => import('./slack.ts'),
  square: () => import('./square.ts'),
  'standard-webhooks': () => import('./standard-webhooks.ts'),
  strava: () => import('./strava.ts'),
  stripe: () => import('./stripe.ts'),
  svix: () => import('./svix.ts'),
  telnyx: () => import('./telnyx.ts'),
  'tiktok-shop': () => import('./tiktok-shop.ts'),
  twilio: () => import('./twilio.ts'),
  twitch: () => import('./twitch.ts'),
  'uber-eats': () => import('./uber-eats.ts'),
  vonage: () => import('./vonage.ts'),
  webflow: () => import('./webflow.ts'),
  wise: () => import('./wise.ts'),
  x: () => import('./x.ts'),
  youtube: () => import('./youtube.ts'),
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
