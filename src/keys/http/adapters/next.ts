import type { RunContext } from '../../run.ts'
import { answerFetch, replyOf, responseOf } from '../fetch.ts'
import { isKeyedMethod, unprotected } from '../keyed.ts'
import { checkKeysOptions, type KeysOptions } from '../options.ts'

/**
 * The second argument of a route handler that declares no type of its own: the dynamic segments of
 * its path.
 */
export interface NextRoute {
  readonly params: Promise<Readonly<Record<string, string | string[] | undefined>>>
}

/** A route handler of Next.js, with the key context as an additional argument. */
export type NextHandler<NextRequest extends Request, Route> = (
  request: NextRequest,
  route: Route,
  context: RunContext,
) => Response | Promise<Response>

/**
 * Idempotency keys for route handlers of Next.js.
 *
 * ```ts
 * export const POST = nextKeys({ store, tenant: userOf })(async (request, { params }) => …)
 * ```
 */
export function nextKeys<NextRequest extends Request>(options: KeysOptions<NextRequest>) {
  const checked = checkKeysOptions(options, 'nextKeys()')
  return <Route = NextRoute>(handler: NextHandler<NextRequest, Route>) =>
    async (request: NextRequest, route: Route): Promise<Response> => {
      if (!isKeyedMethod(request.method)) return handler(request, route, unprotected())
      const reply = await answerFetch(checked, {
        request,
        origin: request,
        handle: async (context, again) =>
          replyOf(await handler(ofTheSameClass(request, again), route, context)),
      })
      return responseOf(reply)
    }
}

/** Next's own request class adds `nextUrl` and `cookies`. */
function ofTheSameClass<NextRequest extends Request>(request: NextRequest, again: Request): NextRequest {
  return Reflect.construct(request.constructor, [again])
}
