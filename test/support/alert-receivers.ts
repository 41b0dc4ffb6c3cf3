import { createServer } from 'node:http'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { onTestFinished } from 'vitest'
import { listening } from './listening-server.ts'
import { until } from './until.ts'

/* Receivers of alerts: an HTTP server and a mail server. */

export interface HttpReceiver {
  readonly url: string
  readonly requests: { readonly headers: Record<string, string>; readonly body: string }[]
  /** Waits for the request of this number, from 1. */
  request(number: number): Promise<{ readonly headers: Record<string, string>; readonly body: string }>
}

/** Answers each request with the next status, and later ones with 200. 0: never answers. */
export async function httpReceiver(...statuses: number[]): Promise<HttpReceiver> {
  const requests: HttpReceiver['requests'] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const status = statuses.shift() ?? 200
    requests.push({ headers: request.headers as Record<string, string>, body })
    if (status !== 0) response.writeHead(status).end(status === 200 ? 'ok' : 'not now')
  })
  const url = `${await listening(server)}/services/T0/B0/the-secret-of-the-hook`
  return {
    url,
    requests,
    request: (number) => until(`request ${number} arrives`, () => requests[number - 1]),
  }
}

export interface Mail {
  readonly user: string | undefined
  readonly from: string | undefined
  readonly to: readonly string[]
  readonly text: string
}

export interface MailServer {
  readonly url: string
  readonly mails: Mail[]
  /** The number of clients that tried to log in. */
  readonly logins: () => number
  mail(number: number): Promise<Mail>
}

/** A server at this address, without TLS, that requires a password. */
export async function mailServer(host = '127.0.0.1', more: SMTPServerOptions = {}): Promise<MailServer> {
  const mails: Mail[] = []
  let logins = 0
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth({ username, password }, _session, done) {
      logins += 1
      done(password === 'pass word' ? null : new Error('wrong password'), { user: username })
    },
    onData(stream, { envelope, user }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        mails.push({
          user,
          from: envelope.mailFrom === false ? undefined : envelope.mailFrom.address,
          to: envelope.rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString('utf8'),
        })
        done()
      })
    },
    ...more,
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  onTestFinished(() => new Promise<void>((resolve) => server.close(resolve)))
  const address = server.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `smtp://alerts:pass%20word@${host}:${port}`,
    mails,
    logins: () => logins,
    mail: (number) => until(`mail ${number} arrives`, () => mails[number - 1]),
  }
}
