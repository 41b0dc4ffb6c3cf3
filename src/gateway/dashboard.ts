import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { sendText } from './listener.ts'

/*
 * The files of the dashboard, built by scripts/build-dashboard.mjs. They hold no data and need no
 * token: the page reads everything from the API. All files are read at the start, and a request
 * only looks up its path, so no request can reach any other file.
 */

export interface Dashboard {
  /** Answers a path below the mount path. False: the path does not belong to the dashboard. */
  answer(request: IncomingMessage, response: ServerResponse, path: string): boolean
}

export interface DashboardOptions {
  /** The path under which a proxy serves the listener, without a slash at its end. */
  readonly mount: string
  readonly folder?: string
}

/** Paths of the page itself. A test compares them with the routes in dashboard/src/routes.ts. */
export const dashboardPaths = [
  '/',
  '/events',
  '/events/:id',
  '/failures',
  '/attention',
  '/rejections',
  '/outbox',
  '/sources',
  '/destinations',
  '/captured',
  '/settings',
] as const

const BUILT = fileURLToPath(new URL('../dashboard/', import.meta.url))

const MEDIA: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/*
 * Scripts and styles come from files only, so markup in a stored payload runs nothing, even if the
 * page rendered it.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const ALWAYS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'accept-encoding',
} as const

const NOT_BUILT = 'The dashboard is not built. Run: npm run build\n'

type Encoding = 'br' | 'gzip' | 'identity'

interface StoredFile {
  readonly bytes: Readonly<Partial<Record<Encoding, Buffer>>> & { readonly identity: Buffer }
  readonly media: string
  readonly etag: string
  readonly cacheControl: string
}

export function dashboard({ mount, folder = BUILT }: DashboardOptions): Dashboard {
  const files = readFiles(folder)
  const page = files.get('/index.html')
  const shownPage = page && pageUnder(mount, page.bytes.identity)
  files.delete('/index.html')
  return {
    answer(request, response, path) {
      const isPage = isPagePath(path)
      const file = isPage ? shownPage : files.get(path)
      if (!file) {
        if (!isPage && !path.startsWith('/assets/')) return false
        sendText(response, 404, isPage ? NOT_BUILT : 'There is no such file. Load the page again.\n')
        return true
      }
      if (request.method === 'GET' || request.method === 'HEAD') send(request, response, file)
      else
        sendText(response, 405, `This path takes GET and HEAD, not ${request.method}\n`, {
          allow: 'GET, HEAD',
        })
      return true
    },
  }
}

function isPagePath(path: string): boolean {
  return /^\/events\/[^/]+$/.test(path) || (dashboardPaths as readonly string[]).includes(path)
}

/** The page, with its mount path. All its URLs are relative to that path. */
function pageUnder(mount: string, html: Buffer): StoredFile {
  const base = `<base href="${escaped(mount)}/">`
  const shown = Buffer.from(html.toString().replace('<base href="/">', () => base))
  const bytes = { identity: shown, gzip: gzipSync(shown), br: brotliCompressSync(shown) }
  return { bytes, media: MEDIA['.html'] ?? '', etag: etagOf(shown), cacheControl: 'no-cache' }
}

function escaped(text: string): string {
  return text.replace(/[&"<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

function readFiles(folder: string): Map<string, StoredFile> {
  const names = new Set(namesIn(folder))
  const read = (name: string): Buffer => readFileSync(join(folder, name))
  const files = new Map<string, StoredFile>()
  for (const name of names) {
    const media = MEDIA[extname(name)]
    if (media === undefined) continue
    const identity = read(name)
    const bytes = {
      identity,
      ...(names.has(`${name}.br`) ? { br: read(`${name}.br`) } : {}),
      ...(names.has(`${name}.gz`) ? { gzip: read(`${name}.gz`) } : {}),
    }
    // Vite puts a hash of the content into the names of assets.
    const cacheControl = name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
    files.set(`/${name}`, { bytes, media, etag: etagOf(identity), cacheControl })
  }
  return files
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) =>
      name.replaceAll('\\', '/'),
    )
  } catch (error) {
    // When run from its sources, hookonce has no built dashboard.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function etagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
}

function send(request: IncomingMessage, response: ServerResponse, file: StoredFile): void {
  const encoding = chosenEncoding(request.headers['accept-encoding'], file)
  // Each encoding is a different representation, so it has a different ETag.
  const etag = encoding === 'identity' ? file.etag : file.etag.replace(/"$/, `-${encoding}"`)
  const headers = { ...ALWAYS, etag, 'cache-control': file.cacheControl }
  if (isKnown(request.headers['if-none-match'], etag)) {
    response.writeHead(304, headers).end()
    return
  }
  const bytes = file.bytes[encoding] ?? file.bytes.identity
  response.writeHead(200, {
    ...headers,
    ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
    'content-type': file.media,
    'content-length': bytes.length,
  })
  response.end(request.method === 'HEAD' ? undefined : bytes)
}

function isKnown(given: string | undefined, etag: string): boolean {
  return (given ?? '').split(',').some((one) => one.trim().replace(/^W\//, '') === etag)
}

/** Browsers list the encodings they accept, and use no weights except 0. */
function chosenEncoding(accepted: string | undefined, { bytes }: StoredFile): Encoding {
  const refused = /;\s*q=0(\.0*)?$/
  const taken = (accepted ?? '')
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => !refused.test(part))
    .map((part) => part.split(';', 1)[0])
  for (const encoding of ['br', 'gzip'] as const)
    if (bytes[encoding] !== undefined && taken.includes(encoding)) return encoding
  return 'identity'
}
