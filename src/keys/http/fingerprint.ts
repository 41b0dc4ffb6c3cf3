import { z } from 'zod'
import { strict } from '../../input/checked.ts'
import { digest } from '../identity.ts'
import { canonicalJson } from './canonical-json.ts'
import type { KeyedRequest } from './message.ts'
import { multipartDigest } from './multipart.ts'

/*
 * The fingerprint decides whether two requests are the same: method, path with query, media type,
 * declared headers, body. It contains the name of its recipe, so that a deploy with a new recipe
 * still recognises requests that were stored under the previous one.
 */
const recipeFields = {
  /** `bytes`: compared as received. `canonical`: JSON; member order and whitespace are ignored. */
  json: z.enum(['bytes', 'canonical']).default('bytes'),
  /**
   * Compare only these members of a JSON object (dots select nested members). For clients that add
   * a timestamp to each retry.
   */
  fields: z.array(z.string().min(1)).min(1).optional(),
  /** Headers that distinguish requests, such as an API version. */
  headers: z.array(z.string().toLowerCase().min(1)).default([]),
}
const recipeSchema = strict(recipeFields)
export const fingerprintSchema = strict({
  ...recipeFields,
  /** Earlier recipes of this route. Keys stored under them are still recognised. */
  previous: z.array(recipeSchema).default([]),
})

type Recipe = z.output<typeof recipeSchema>
export type FingerprintOptions = z.output<typeof fingerprintSchema>

/** Raise it when the code below changes what it hashes. */
const VERSION = '1'

export function fingerprint(request: KeyedRequest, recipe: Recipe): string {
  const contentType = request.header('content-type') ?? ''
  const mediaType = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const hash = digest([
    VERSION,
    request.method.toUpperCase(),
    request.target,
    mediaType,
    ...recipe.headers.map((name) => `${name}:${request.header(name) ?? ''}`),
    bodyOf(request, recipe, { contentType, mediaType }),
  ])
  return `${nameOf(recipe)}:${hash}`
}

/**
 * The fingerprint of this request under the recipe of a stored fingerprint, if that recipe is
 * configured.
 */
export function refingerprint(
  request: KeyedRequest,
  { previous }: FingerprintOptions,
  stored: string,
): string | undefined {
  const recipe = previous.find((recipe) => stored.startsWith(`${nameOf(recipe)}:`))
  return recipe && fingerprint(request, recipe)
}

/** A recipe lives as long as its route, so its name is computed once. */
const names = new WeakMap<Recipe, string>()

function nameOf(recipe: Recipe): string {
  const known = names.get(recipe)
  if (known !== undefined) return known
  const { json, fields, headers } = recipe
  const name = `${VERSION}-${digest([canonicalJson({ json, fields, headers })]).slice(0, 8)}`
  names.set(recipe, name)
  return name
}

function bodyOf(
  { body }: KeyedRequest,
  { json, fields }: Recipe,
  { contentType, mediaType }: { contentType: string; mediaType: string },
): string | Uint8Array {
  if (mediaType.startsWith('multipart/')) return multipartDigest(body, contentType) ?? body
  if (json === 'bytes' && fields === undefined) return body
  if (!/[/+]json$/.test(mediaType)) return body
  const value = parsed(body)
  if (value === undefined) return body
  return canonicalJson(
    fields === undefined ? value.json : fields.map((path) => [path, at(value.json, path) ?? null]),
  )
}

function parsed(body: Uint8Array): { json: unknown } | undefined {
  try {
    return { json: JSON.parse(Buffer.from(body).toString()) }
  } catch {
    // Not valid JSON, so compare its bytes.
    return undefined
  }
}

function at(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (inner, name) =>
        typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
          ? inner[name as keyof typeof inner]
          : undefined,
      value,
    )
}
