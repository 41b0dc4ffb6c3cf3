import { hooks } from '../../../src/hooks.ts'

// Looked up for each request, not when the module loads: `next build` loads it without secrets.
export const GET = (request: Request) => hooks().next().GET(request)
export const POST = (request: Request) => hooks().next().POST(request)
