import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { PLAIN } from '../../input/plain-issues.ts'
import { parseStorable, readJsonBody } from './body.ts'
import type { Entry, Gate } from './gate.ts'
import { InvalidRequest } from './problem.ts'
import { MethodUnsupported, type Reply } from './reply.ts'
import { route } from './route.ts'
import { time } from './schemas.ts'

/*
 * Sessions of browsers. They set cookies, so they are answered before the routes; the routes below
 * describe them for the document and the client.
 */

const tag = 'session'

const logInBody = z.strictObject({
  token: z.string().min(1).max(512).meta({ description: 'A token of `hookonce token create`.' }),
})

const shownSession = z.object({
  name: z.string(),
  role: z.string(),
  tenant: z.string().nullable(),
  bodies: z.boolean(),
  csrf: z
    .string()
    .nullable()
    .meta({ description: 'Send it as `x-hookonce-csrf` with each POST and DELETE. Null: not a session.' }),
  expiresAt: time.nullable(),
})

export function isSessionPath(path: string): boolean {
  return path === '/session'
}

export async function answerSession(gate: Gate, request: IncomingMessage): Promise<Reply> {
  switch (request.method) {
    case 'GET':
      return { status: 200, json: shown(await gate.identify(request)) }
    case 'POST': {
      gate.requireSameSite(request, undefined)
      const { entry, cookie } = await gate.logIn(request, await tokenIn(request))
      return { status: 200, headers: { 'set-cookie': cookie }, json: shown(entry) }
    }
    case 'DELETE': {
      const entry = await gate.identify(request)
      gate.requireSameSite(request, entry)
      return { status: 204, headers: { 'set-cookie': await gate.logOut(request, entry) } }
    }
    default:
      throw new MethodUnsupported(request.method ?? '', ['GET', 'POST', 'DELETE'])
  }
}

async function tokenIn(request: IncomingMessage): Promise<string> {
  const checked = logInBody.safeParse(parseStorable(await readJsonBody(request), 'the body'), PLAIN)
  if (!checked.success) throw new InvalidRequest('body', checked.error.issues)
  return checked.data.token
}

function shown({ caller, session }: Entry): z.output<typeof shownSession> {
  const { name, role, tenant = null, bodies } = caller
  const expiresAt = session?.expiresAt.toISOString() ?? null
  return { name, role, tenant, bodies, csrf: session?.csrf ?? null, expiresAt }
}

/** `sessionAnswer` above answers this route. */
function unreachable(): Promise<never> {
  return Promise.reject(new Error('POST /session must be answered before the routes'))
}

export const sessionRoutes = [
  route({
    method: 'GET',
    path: '/session',
    access: { role: 'viewer', scope: 'tenant' },
    tag,
    summary: 'Show who you are',
    response: shownSession,
    answer: unreachable,
  }),
  route({
    method: 'POST',
    path: '/session',
    access: { role: 'anyone', scope: 'tenant' },
    tag,
    summary: 'Log a browser in with a token',
    description:
      'Sets an HttpOnly, SameSite=Strict cookie for 12 hours. Wrong tokens are limited by address.',
    isKeyed: false,
    body: logInBody,
    response: shownSession,
    answer: unreachable,
  }),
  route({
    method: 'DELETE',
    path: '/session',
    access: { role: 'viewer', scope: 'tenant' },
    tag,
    summary: 'Log a browser out',
    status: 204,
    response: z.undefined(),
    answer: unreachable,
  }),
] as const
