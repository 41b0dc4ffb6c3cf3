import type { Provider } from '../provider.ts'

/*
 * The catalogue: every provider by its id, loaded when it is asked for. A process that names two providers loads two.
 * One line a provider, in alphabetical order; its module exports the factory.
 */
const catalogue = {
  adyen: () => import('./adyen.ts'),
  airtable: () => import('./airtable.ts'),
  anthropic: () => import('./anthropic.ts'),
  asana: () => import('./asana.ts'),
  auth0: () => import('./auth0.ts'),
  'aws-sns': () => import('./aws-sns.ts'),
  bigcommerce: () => import('./bigcommerce.ts'),
  bitbucket: () => import('./bitbucket.ts'),
  box: () => import('./box.ts'),
  calendly: () => import('./calendly.ts'),
  chargebee: () => import('./chargebee.ts'),
  'checkout-com': () => import('./checkout-com.ts'),
  circleci: () => import('./circleci.ts'),
  clerk: () => import('./clerk.ts'),
  clickup: () => import('./clickup.ts'),
  'coinbase-cdp': () => import('./coinbase-cdp.ts'),
  'coinbase-commerce': () => import('./coinbase-commerce.ts'),
  customerio: () => import('./customerio.ts'),
  discord: () => import('./discord.ts'),
  docusign: () => import('./docusign.ts'),
  dodopayments: () => import('./dodopayments.ts'),
  dropbox: () => import('./dropbox.ts'),
  figma: () => import('./figma.ts'),
  gethook: () => import('./gethook.ts'),
  github: () => import('./github.ts'),
  gitlab: () => import('./gitlab.ts'),
  gocardless: () => import('./gocardless.ts'),
  hubspot: () => import('./hubspot.ts'),
  intercom: () => import('./intercom.ts'),
  jira: () => import('./jira.ts'),
  klaviyo: () => import('./klaviyo.ts'),
  lemonsqueezy: () => import('./lemonsqueezy.ts'),
  line: () => import('./line.ts'),
  linear: () => import('./linear.ts'),
  mailchimp: () => import('./mailchimp.ts'),
  mailgun: () => import('./mailgun.ts'),
  meta: () => import('./meta.ts'),
  'microsoft-graph': () => import('./microsoft-graph.ts'),
  mollie: () => import('./mollie.ts'),
  monday: () => import('./monday.ts'),
  netlify: () => import('./netlify.ts'),
  notion: () => import('./notion.ts'),
  okta: () => import('./okta.ts'),
  openai: () => import('./openai.ts'),
  paddle: () => import('./paddle.ts'),
  pagerduty: () => import('./pagerduty.ts'),
  paystack: () => import('./paystack.ts'),
  polar: () => import('./polar.ts'),
  postmark: () => import('./postmark.ts'),
  pusher: () => import('./pusher.ts'),
  quickbooks: () => import('./quickbooks.ts'),
  razorpay: () => import('./razorpay.ts'),
  replicate: () => import('./replicate.ts'),
  resend: () => import('./resend.ts'),
  sanity: () => import('./sanity.ts'),
  segment: () => import('./segment.ts'),
  sendgrid: () => import('./sendgrid.ts'),
  sentry: () => import('./sentry.ts'),
  shopify: () => import('./shopify.ts'),
  slack: () => import('./slack.ts'),
  square: () => import('./square.ts'),
  'standard-webhooks': () => import('./standard-webhooks.ts'),
  strapi: () => import('./strapi.ts'),
  stripe: () => import('./stripe.ts'),
  'supabase-auth-hooks': () => import('./supabase-auth-hooks.ts'),
  svix: () => import('./svix.ts'),
  telegram: () => import('./telegram.ts'),
  trello: () => import('./trello.ts'),
  twilio: () => import('./twilio.ts'),
  typeform: () => import('./typeform.ts'),
  vercel: () => import('./vercel.ts'),
  'vercel-log-drains': () => import('./vercel-log-drains.ts'),
  whatsapp: () => import('./whatsapp.ts'),
  woocommerce: () => import('./woocommerce.ts'),
  workos: () => import('./workos.ts'),
  x: () => import('./x.ts'),
  xero: () => import('./xero.ts'),
  zendesk: () => import('./zendesk.ts'),
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
