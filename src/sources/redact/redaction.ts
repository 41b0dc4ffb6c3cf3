import { HookonceError } from '../../model/errors.ts'
import type { Delivery, Redaction } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { looksLikeJson } from '../schemes/payload.ts'
import { bodyProofs } from './body-proofs.ts'
import { type FormRules, redactForm } from './form.ts'
import { hidesObjectId, refuseIdentityRules } from './identity.ts'
import { jsonRedactor, type RedactJson } from './json.ts'
import { MARKER } from './marker.ts'
import { parseRules, type Rules } from './rules.ts'

type Body = CheckedDescription['body']

const WHOLE = Buffer.from(JSON.stringify(MARKER))

/** Undefined if there are no rules. Refuses rules that this source cannot apply. */
export function redactionOf(
  description: CheckedDescription,
  texts: readonly string[],
): Redaction | undefined {
  if (texts.length === 0) return undefined
  const rules = parseRules(texts)
  refuseForeignRules(description, rules)
  refuseIdentityRules(description, rules)
  const redact = bodyRedactor(description.body, rules)
  return {
    body: (delivery) => redact(delivery) ?? WHOLE,
    hidesObjectId: rules.paths.some((path) => path.length === 0) || hidesObjectId(description, rules),
    hidesHeader: headerRule(description, rules),
  }
}

/** With a signature of the original body, an attacker could test guesses of the hidden values. */
function headerRule(description: CheckedDescription, rules: Rules): Redaction['hidesHeader'] {
  const { paths, fields, headers } = rules
  const hidesBody = paths.length > 0 || fields.size > 0
  const isProof = hidesBody ? bodyProofs(description) : () => false
  return (name) => headers.has(name.toLowerCase()) || isProof(name.toLowerCase())
}

type RedactBody = (delivery: Delivery) => Uint8Array | undefined

function bodyRedactor(kind: Body, { paths, fields }: Rules): RedactBody {
  if (paths.length === 0 && fields.size === 0) return ({ body }) => body
  // The whole body is hidden.
  if (paths.some((path) => path.length === 0)) return () => undefined
  const json = paths.length > 0 ? jsonRedactor(paths) : undefined
  const form: FormRules = { fields, json: embeddedJson(kind, json) }
  const hasFormRules = fields.size > 0 || form.json !== undefined
  return (delivery) => {
    if (isForm(kind, delivery)) return hasFormRules ? redactedForm(delivery, form) : undefined
    return json?.(delivery.body)
  }
}

function isForm(kind: Body, { body }: Delivery): boolean {
  if (typeof kind === 'string') return kind === 'form'
  return !('jsonOr' in kind) || !looksLikeJson(body)
}

/** Only urlencoded forms: the parts of a multipart form may be files. */
function redactedForm(delivery: Delivery, rules: FormRules): Uint8Array | undefined {
  const isMultipart = /^\s*multipart\//i.test(delivery.header('content-type') ?? '')
  return isMultipart ? undefined : redactForm(delivery.body, rules)
}

/** For providers that send their JSON in a field of a form. */
function embeddedJson(kind: Body, redact: RedactJson | undefined): FormRules['json'] {
  const form = typeof kind === 'object' && 'jsonOr' in kind ? kind.jsonOr : kind
  if (typeof form !== 'object' || redact === undefined) return undefined
  return { field: form.form, redact }
}

/** A rule that could never hide anything is a mistake. */
function refuseForeignRules({ provider, body }: CheckedDescription, { paths, fields }: Rules): void {
  const hasPaths = paths.some((path) => path.length > 0)
  const refuse = (fault: string): never => {
    throw new HookonceError('CONFIG_INVALID', `${provider}: redact: ${fault}`)
  }
  if (body === 'xml' && (hasPaths || fields.size > 0))
    refuse('this provider sends XML; only "$" (the whole body) and header:<name> can be hidden')
  if (body === 'form' && hasPaths) refuse('this provider sends forms; name fields as form:<field>')
  if ((body === 'json' || body === 'coded') && fields.size > 0)
    refuse('this provider sends no forms; name values by their path, such as $.customer.email')
}
