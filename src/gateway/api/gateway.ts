import { z } from 'zod'
import { route } from './route.ts'

export const gatewayRoutes = [
  route({
    method: 'GET',
    path: '/gateway',
    access: { role: 'viewer', scope: 'tenant' },
    tag: 'gateway',
    summary: 'Show the purpose of this gateway, and a command to try it',
    response: z.object({
      captures: z
        .boolean()
        .meta({ description: 'Whether it keeps requests to sources that are not configured.' }),
      firstEvent: z.string().nullable().meta({
        description:
          'A command that sends a signed event, from the folder in which the gateway was started. Null: the caller sees no source, or this gateway only works.',
      }),
      deliveryUrl: z.string().nullable().meta({
        description:
          'Where it receives deliveries, as seen from its own machine. Null: this gateway only works.',
      }),
      verifyCommand: z.string().nullable().meta({
        description:
          'A command that verifies a stored delivery of the first source, from the folder in which the gateway was started. Null: the caller sees no source.',
      }),
    }),
    async answer({ caller, gateway }) {
      const source = gateway.firstSource(caller.tenant)
      return {
        captures: gateway.captured !== undefined,
        firstEvent: gateway.firstEvent(caller.tenant) ?? null,
        deliveryUrl: gateway.deliveryUrl() ?? null,
        verifyCommand: (source && gateway.verifyCommand(source)) ?? null,
      }
    },
  }),
] as const
