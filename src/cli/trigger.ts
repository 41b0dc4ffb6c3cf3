import { HookonceError } from '../model/errors.ts'
import { textOfThrown } from '../model/thrown.ts'
import { secretVariable, urlVariable } from '../sources/environment.ts'
import type { SampleEvent } from '../sources/sample.ts'
import { prepareToSign, sampleEvents, signedSample } from '../sources/sample-events.ts'
import { type SampleField, withFields } from '../sources/sample-fields.ts'
import type { SignedDelivery, SigningSource } from '../sources/sign.ts'
import { type Command, parse, usageError } from './command.ts'
import { DEMO } from './demo.ts'
import { findSource, sourceOptions } from './find-source.ts'
import { print, printJson, safe } from './print.ts'
import { parseFields } from './sample-fields.ts'

const usage = `hookonce trigger <provider> [type] [--url URL] [--secret env:NAME] [--config hookonce.json] [--id KEY]
                 [--times N] [--concurrent] [--reorder] [--set a.b=c] [--setting name=value] [--dir .hookonce] [--json]

Sends signed sample events to a URL, as the provider would. It contacts nothing but that URL. "demo" is the source that
\`hookonce dev\` opens for a first try, and needs no secret.
--url         where to send; default http://127.0.0.1:4400/in/<provider>
--secret      env:NAME or file:/path; default STRIPE_WEBHOOK_SECRET and so on, as \`hookonce dev\` reads it. For public-key
              providers a private key
--config      <provider> is the name of a source in this file
--id          the event key; default a random one
--times       delivers the same event N times, signed again each time, like a provider that retries
--concurrent  delivers them all at the same time
--reorder     sends --times different events of one object, the latest first
--set         sets a field of the body. A value that is JSON is sent as JSON, any other as text. May be repeated
--dir         where \`hookonce dev\` keeps the secret of "demo"
Exits with 1 if any delivery was not answered with 2xx.`

export const trigger: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 2 }, args, {
      ...sourceOptions,
      id: { type: 'string' },
      times: { type: 'string', default: '1' },
      concurrent: { type: 'boolean', default: false },
      reorder: { type: 'boolean', default: false },
      set: { type: 'string', multiple: true, default: [] as string[] },
      // The old name of --set.
      override: { type: 'string', multiple: true, default: [] as string[] },
      json: { type: 'boolean', default: false },
    })
    const [name, type] = positionals
    if (name === undefined) throw usageError({ usage }, 'give a provider and at most one type')
    const url = targetOf(values.url ?? `http://127.0.0.1:4400/in/${name}`)
    const { source } = await findSource({ usage }, name, {
      ...values,
      registeredUrl: process.env[urlVariable(name)] || url.href,
    })
    const times = timesOf(values.times)
    const fields = parseFields({ usage }, [...values.override, ...values.set])
    const target = { source, url, fields }
    await prepareToSign(source)
    const events = sampleEvents(source, { type, key: values.id }, values.reorder ? times : 1)
    const deliveries = values.reorder ? events.reverse() : Array.from({ length: times }, () => events[0])
    const sends = deliveries.flatMap((event) => (event ? [() => send(target, event)] : []))
    const answers = values.concurrent
      ? await Promise.all(sends.map((start) => start()))
      : await oneByOne(sends)
    if (answers.some(({ status }) => status < 200 || status > 299)) process.exitCode = 1
    if (values.json) printJson(answers)
    else
      for (const { status, body, key, type: sent } of answers)
        print(safe(`${status}  ${sent}  ${key}  ${body}`))
    for (const advice of adviceOn(answers, url, startOf(source, values))) process.stderr.write(`${advice}\n`)
  },
}

/** The command that starts `dev` with this secret. */
function startOf(
  { provider }: SigningSource,
  { config, dir }: { readonly config?: string | undefined; readonly dir: string },
): string {
  if (config !== undefined) return `npx hookonce dev --config ${config}`
  return provider === DEMO
    ? `npx hookonce dev --dir ${dir}`
    : `${secretVariable(provider)}=… npx hookonce dev`
}

interface TriggerTarget {
  readonly source: SigningSource
  readonly url: URL
  readonly fields: readonly SampleField[]
}

interface TriggerAnswer {
  readonly key: string
  readonly type: string
  readonly status: number
  readonly body: string
}

async function send({ source, url, fields }: TriggerTarget, event: SampleEvent): Promise<TriggerAnswer> {
  const signed = signedSample(source, event, {
    url: `${url.pathname}${url.search}`,
    edit: (body) => withFields(body, source.description.body, fields),
  })
  const { status, text } = await post(new URL(signed.url, url), signed)
  return { key: event.key, type: event.type, status, body: text }
}

/** No provider waits longer for an answer. */
const ANSWER_WITHIN_MS = 60_000

async function post(url: URL, { headers, body }: SignedDelivery): Promise<{ status: number; text: string }> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    return { status: response.status, text: (await response.text()).slice(0, 500) }
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    throw new HookonceError(
      'CONFIG_INVALID',
      `${url.origin} did not answer: ${textOfThrown(cause)}; start the receiver there, such as \`hookonce dev\`, or name another one with --url`,
      { cause: error },
    )
  }
}

/** Advice if `hookonce dev` runs without the source or with another secret. */
function adviceOn(answers: readonly TriggerAnswer[], { origin, pathname }: URL, start: string): string[] {
  const advice: Readonly<Record<string, string>> = {
    SOURCE_UNKNOWN: `${origin} has no source for ${pathname}: start it with the secret that is used here (${start}), or name the path of another source with --url`,
    SIGNATURE_MISMATCH: `${origin} has another secret or another URL for ${pathname}: start it with the secret that is used here (${start})`,
  }
  const codes = new Set(answers.map(({ body }) => /^\{"error":"([A-Z_]+)"/.exec(body)?.[1] ?? ''))
  return [...codes].flatMap((code) => advice[code] ?? [])
}

async function oneByOne(sends: readonly (() => Promise<TriggerAnswer>)[]): Promise<TriggerAnswer[]> {
  const answers: TriggerAnswer[] = []
  for (const start of sends) answers.push(await start())
  return answers
}

function targetOf(text: string): URL {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw usageError({ usage }, `--url must be an http or https URL, not "${text}"`)
  return new URL(text)
}

const MAX_TIMES = 1_000

function timesOf(text: string): number {
  const times = Number(text)
  if (/^\d{1,4}$/.test(text) && times >= 1 && times <= MAX_TIMES) return times
  throw usageError({ usage }, `--times must be a number from 1 to ${MAX_TIMES}, not "${text}"`)
}
