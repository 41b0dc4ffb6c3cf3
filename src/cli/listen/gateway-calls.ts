import { type AdminClient, ApiError } from '../../client/index.ts'
import { HookonceError } from '../../model/errors.ts'

/* The requests of `listen` to a gateway, and the errors for their failures. */

/** The gateway does not answer, or is unavailable. A later request may succeed. */
export class GatewayAway extends HookonceError {
  /** The message without its code. */
  readonly reason: string

  constructor(reason: string, options?: ErrorOptions) {
    super('GATEWAY_UNREACHABLE', reason, options)
    this.reason = reason
  }
}

/** The token that `listen` needs. */
const TOKEN_ADVICE =
  'Create a token on the gateway with `hookonce token create laptop --role viewer --bodies`, and pass it in HOOKONCE_TOKEN, or with --token env:NAME or --token file:/path.'

/** Makes one request. An outage becomes GatewayAway; a refusal stays an ApiError. */
export async function ask<Answer>(from: string, request: () => Promise<Answer>): Promise<Answer> {
  try {
    return await request()
  } catch (error) {
    // An error of this process, such as a position that cannot be saved.
    if (error instanceof HookonceError) throw error
    if (!(error instanceof ApiError))
      throw new GatewayAway(`${from} does not answer: ${networkFault(error)}`, { cause: error })
    if (error.status === 401)
      throw new HookonceError(
        'CONFIG_INVALID',
        `${from} refuses the token: ${detailOf(error)}. ${TOKEN_ADVICE}`,
      )
    if (error.status === 403)
      throw new HookonceError('CONFIG_INVALID', `${from}: ${detailOf(error)}. ${TOKEN_ADVICE}`)
    if (error.retryable || error.code === undefined)
      throw new GatewayAway(`${from} answered ${error.message}`, { cause: error })
    throw error
  }
}

/** Throws unless a gateway answers at this address, and its token may read bodies. */
export async function checkAccess(client: AdminClient, from: string): Promise<void> {
  const session: { readonly bodies?: unknown; readonly name?: unknown } = await ask(from, () =>
    client.get('/session'),
  ).catch((error) => {
    const answer = error instanceof GatewayAway ? error.cause : undefined
    if (answer instanceof ApiError && answer.code === undefined) throw notGateway(from, answer.message)
    throw error
  })
  if (typeof session.bodies !== 'boolean') throw notGateway(from, 'the answer does not come from hookonce')
  if (!session.bodies)
    throw new HookonceError(
      'CONFIG_INVALID',
      `the token "${String(session.name)}" may not read bodies, and \`listen\` sends them. ${TOKEN_ADVICE}`,
    )
}

function notGateway(from: string, reason: string): HookonceError {
  const advice = 'give the URL of its admin listener, with the path under which a proxy mounts it'
  return new HookonceError(
    'CONFIG_INVALID',
    `there is no usable admin API at ${from}/api/v1 (${reason}): ${advice}`,
  )
}

function detailOf({ problem, message }: ApiError): string {
  return typeof problem.detail === 'string' ? problem.detail : message
}

/**
 * `fetch failed` has the reason in its cause; for several addresses, in the errors of its cause.
 */
export function networkFault(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  const [first = cause] = cause instanceof AggregateError ? cause.errors : []
  const fault = first instanceof Error ? first.message : String(first)
  return fault === 'bad port' ? 'Node.js sends no requests to this port, choose another' : fault
}
