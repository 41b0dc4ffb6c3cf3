import type { Doors, Entry } from '../delivery/doors.ts'

/** The handlers of a route of the App Router. GET and HEAD answer handshakes. */
export interface NextRoute {
  readonly GET: (request: Request) => Promise<Response>
  readonly HEAD: (request: Request) => Promise<Response>
  readonly POST: (request: Request) => Promise<Response>
}

export function nextRoute(doors: Doors, entry: Entry): NextRoute {
  const handle = (request: Request): Promise<Response> => doors.fetch(request, entry)
  return { GET: handle, HEAD: handle, POST: handle }
}
