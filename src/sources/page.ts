import { type CheckedDescription, needsUrl } from './description.ts'
import { secretVariable, settingVariable, urlVariable } from './environment.ts'
import { coversBody, isDigest, isPublicKey, type Signature } from './signature.ts'

/** The documentation of a provider in Markdown, generated from its description. */
export function providerPage(description: CheckedDescription): string {
  const { provider, about, event } = description
  const sections = [
    `# ${about?.name ?? provider}`,
    intro(description),
    '## Signature',
    bullets(signatureFacts(description)),
    '## Events',
    bullets([
      ...(description.batch === undefined
        ? []
        : [
            `a delivery contains several events, at ${placeText(description.batch)}; each is recorded separately`,
          ]),
      `key: ${placeText(event.key)}`,
      ...(event.type === undefined ? [] : [`type: ${placeText(event.type)}`]),
      ...(event.objectId === undefined ? [] : [`object: ${placeText(event.objectId)}`]),
      ...(event.occurredAt === undefined ? [] : [`occurred at: ${placeText(event.occurredAt.at)}`]),
      `ordered by: ${placeText(event.version?.at ?? event.occurredAt?.at ?? 'nothing')}`,
    ]),
    '## Answers',
    bullets(answerFacts(description)),
    ...list('## What to know', about?.notes),
    ...list('## Not verified', about?.unverified),
    ...list('## Evidence', about?.evidence),
  ]
  return sections.join('\n\n')
}

export const EVIDENCE = {
  verified: "read in the vendor's own code or specification",
  documented: "stated in the vendor's documents, or in notes that cite them",
  uncertain: 'NOT certain: only one source, which is not the vendor; check before you rely on it',
} as const

function intro(description: CheckedDescription): string {
  const { provider, about, settings } = description
  const more = [
    ...(needsUrl(description) ? [`url: 'https://…'`] : []),
    ...(Object.keys(settings).length > 0
      ? [
          `settings: { ${Object.keys(settings)
            .map((name) => `${name}: '…'`)
            .join(', ')} }`,
        ]
      : []),
  ]
  const name = provider.replace(/-(.)/g, (_match, letter: string) => letter.toUpperCase())
  const isKeyless = description.signature.algorithm === 'coded' && description.signature.secret === 'none'
  const options = [...(isKeyless ? [] : [`secret: process.env.${secretVariable(provider)}`]), ...more]
  return [
    `Provider \`${provider}\`, ${about?.category ?? 'custom'}. Evidence: ${EVIDENCE[about?.confidence ?? 'uncertain']}.`,
    '',
    '```ts',
    `${name}({ ${options.join(', ')} })`,
    '```',
    ...(needsUrl(description)
      ? [`\n\`url\`: as registered with the provider (for the commands: \`${urlVariable(provider)}\`).`]
      : []),
    ...Object.entries(settings).map(
      ([setting, meaning]) =>
        `\n\`settings.${setting}\`: ${meaning} (for the commands: \`${settingVariable(provider, setting)}\`).`,
    ),
  ].join('\n')
}

function signatureFacts({ signature, timestamp }: CheckedDescription): string[] {
  return [
    proofText(signature),
    ...(isDigest(signature) ? [`signed: \`${signature.content}\``] : []),
    dateFact(signature, timestamp),
    ...(coversBody(signature) ? [] : ['the body is NOT signed: only TLS protects it']),
  ]
}

function dateFact(signature: Signature, timestamp: CheckedDescription['timestamp']): string {
  if (timestamp !== undefined)
    return `date: \`${timestamp.at}\` (${timestamp.unit}), rejected after ${timestamp.toleranceSeconds} s`
  if (signature.algorithm === 'jwt' || (signature.algorithm === 'coded' && signature.dated))
    return `the date is signed, and rejected after ${signature.toleranceSeconds} s`
  return 'the date is not checked: only the event key detects an old delivery'
}

/** How a provider proves that a delivery is its own. */
export function proofText(signature: Signature): string {
  if (signature.algorithm === 'coded') return signature.how
  if (signature.algorithm === 'basic') return 'basic authentication; the secret is `user:password`'
  const where = [signature.header ?? signature.at ?? ''].flat().join('`, `')
  if (signature.algorithm === 'token') return `the secret itself, at \`${where}\``
  if (signature.algorithm === 'jwt')
    return `a JSON Web Token (${signature.algorithms.join(', ')}) at \`${where}\``
  const key = isPublicKey(signature.algorithm) ? '; the secret is the public key of the provider' : ''
  return `${signature.algorithm} in ${signature.encoding}, at \`${where}\`${key}`
}

function answerFacts(description: CheckedDescription): string[] {
  const { acceptedStatus, refusedStatus, retryWindowHours, answerWithinSeconds, handshake = [] } = description
  return [
    `recorded: ${acceptedStatus}; bad signature: ${refusedStatus}`,
    `keys must be kept for ${retryWindowHours} hours: a delivery may be retried or resent for that long`,
    ...(answerWithinSeconds === undefined
      ? []
      : [`the provider waits ${answerWithinSeconds} s for the answer`]),
    ...handshake.map(
      ({ method, when, signed }) =>
        `handshake: answers ${method} with ${Object.keys(when).join(', ') || 'nothing'}${signed ? ', signed' : ''}`,
    ),
  ]
}

function list(title: string, lines: readonly string[] = []): string[] {
  return lines.length === 0 ? [] : [title, bullets(lines)]
}

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n')
}

type Part = 'hash' | 'optional' | 'when' | 'key' | 'textOf' | 'join' | 'present'

function conditions(when: object): string {
  return Object.entries(when)
    .map(([place, texts]) => `${placeText(place)} is ${[texts].flat().join(' or ')}`)
    .join(' and ')
}

/** Describes a place in words. */
export function placeText(place: unknown): string {
  if (typeof place === 'string') return place.includes(':') ? `\`${place}\`` : place.replace('-', ' ')
  if (Array.isArray(place)) return place.map(placeText).join(', else ')
  const { hash, optional, when, key, textOf, join, present } = place as Partial<Record<Part, unknown[]>>
  if (hash) return `hash of ${[...hash, ...(optional ?? [])].map(placeText).join(', ')}`
  if (when) return `${placeText(key)} if ${conditions(when)}`
  if (textOf) return `${placeText(textOf)} as written`
  if (join) return join.map(placeText).join(' and ')
  return `the name of the first of ${(present ?? []).map(placeText).join(', ')} that is present`
}
