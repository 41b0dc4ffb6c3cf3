import { HookonceError } from '../../model/errors.ts'
import { bodyText, headline } from '../message.ts'
import type { SendAlert } from './contract.ts'

export interface SmtpChannel {
  /** `smtp://user:password@host:587`, or `smtps://` for TLS from the first byte. */
  readonly server: string
  readonly from: string
  readonly to: readonly string[]
}

/** A mail server answers within a second. After this time it counts as hung. */
const ANSWER_MS = 15_000
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Sends mail through an SMTP server, by the optional package nodemailer. */
export function smtpChannel({ server, from, to }: SmtpChannel): SendAlert {
  const { protocol, hostname, port, username, password } = new URL(server)
  const isLocal = LOOPBACK.has(hostname)
  const options = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (protocol === 'smtps:' ? 465 : 587) : Number(port),
    secure: protocol === 'smtps:',
    // Without this, an attacker on the network could disable TLS and read the password.
    requireTLS: protocol === 'smtp:' && !isLocal,
    ...(username === ''
      ? {}
      : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: ANSWER_MS,
    greetingTimeout: ANSWER_MS,
    socketTimeout: ANSWER_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  return async (message, { id }) => {
    const { createTransport } = await nodemailer()
    const transport = createTransport(options)
    try {
      await transport.sendMail({
        from,
        to: [...to],
        subject: headline(message),
        text: `${bodyText(message)}\n`,
        // Every attempt has the same id: many mail programs show a mail that arrives twice only
        // once.
        messageId: `<${id}@hookonce>`,
        headers: { 'auto-submitted': 'auto-generated' },
      })
    } catch (error) {
      const fault = error instanceof Error ? error.message : String(error)
      throw new HookonceError(
        'PUBLISH_FAILED',
        `the mail server ${options.host}:${options.port} did not accept the alert: ${fault}`,
        { cause: error },
      )
    } finally {
      transport.close()
    }
  }
}

async function nodemailer(): Promise<typeof import('nodemailer')> {
  try {
    return await import(/* webpackIgnore: true */ 'nodemailer')
  } catch (error) {
    throw new HookonceError('CLIENT_MISSING', 'alerts by mail need nodemailer: npm install nodemailer', {
      cause: error,
    })
  }
}
