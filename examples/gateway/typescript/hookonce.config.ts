import { defineConfig } from 'hookonce/gateway'

/** One source per customer: deliveries come in at /in/<customer>/stripe. */
const customers = ['acme', 'bolt']

export default defineConfig({
  sources: Object.fromEntries(
    customers.map((customer) => [
      `${customer}/stripe`,
      { provider: 'stripe', secret: `env:${customer.toUpperCase()}_STRIPE_SECRET` },
    ]),
  ),
  destinations: {
    app: {
      url: 'http://127.0.0.1:3000/webhooks',
      secret: 'env:FORWARD_SECRET',
      allowPrivate: ['127.0.0.1'],
    },
  },
  routes: [{ from: '*/stripe', types: 'invoice.*', to: 'app' }],
})
