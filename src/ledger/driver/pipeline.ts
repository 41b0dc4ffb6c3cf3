import pg, { type Connection, type PoolClient, type Submittable } from 'pg'
import utils from 'pg/lib/utils.js'
import { HookonceError } from '../../model/errors.ts'
import { textOfThrown } from '../../model/thrown.ts'
import { UnpreparedClient } from './unprepared.ts'

/**
 * Sends many statements to the server in one write, ended by a single Sync. `pg` would create a
 * query, a promise and a system call per statement, which is most of the cost of small writes.
 *
 * The connection must not be in pg's own pipeline mode. Inside a transaction, the server skips all
 * statements after the first failure.
 */
export interface PipelinedStatement {
  readonly text: string
  readonly values: readonly unknown[]
}

type Sendable = string | Buffer | null

const failedAt = new WeakMap<Error, number>()

/**
 * Returns the position of the statement that the server rejected with this error, or undefined if
 * the error belongs to no known statement.
 */
export function placeOf(error: unknown): number | undefined {
  return error instanceof Error ? failedAt.get(error) : undefined
}

interface PipelineTerms {
  /**
   * False: each statement is parsed anew, so it also works after a statement that deallocated the
   * prepared ones.
   */
  readonly isPrepared?: boolean
}

/** Returns how many rows each statement changed. */
export async function pipeline(
  client: PoolClient,
  given: readonly PipelinedStatement[],
  { isPrepared = true }: PipelineTerms = {},
): Promise<readonly number[]> {
  if (given.length === 0) return []
  const statements = given.map(({ text, values }) => ({ text, values: values.map(sendable) }))
  return new Promise((resolve, reject) => {
    const limit = isPrepared && !(client instanceof UnpreparedClient) ? MAX_PREPARED : 0
    client.query(new Pipeline({ statements, limit, resolve, reject }))
  })
}

/** Runs before sending: an exception halfway would leave the server waiting for the rest. */
function sendable(value: unknown, index: number): Sendable {
  try {
    return utils.prepareValue(value)
  } catch (error) {
    const fault = `the value of $${index + 1} cannot be converted for PostgreSQL: ${textOfThrown(error)}`
    throw new HookonceError('CONFIG_INVALID', fault, { cause: error })
  }
}

/**
 * Limits the memory of the server if a program builds new SQL texts each time. Texts beyond this
 * limit are parsed at each execution.
 */
const MAX_PREPARED = 100

/** Names of the prepared statements of each connection, by SQL text. */
const preparedOn = new WeakMap<Connection, Map<string, string>>()

function preparedTexts(connection: Connection): Map<string, string> {
  const known = preparedOn.get(connection) ?? new Map<string, string>()
  preparedOn.set(connection, known)
  return known
}

interface PipelineOptions {
  readonly statements: readonly { readonly text: string; readonly values: readonly Sendable[] }[]
  /** Maximum number of texts to prepare on the connection. 0: use no prepared statement at all. */
  readonly limit: number
  readonly resolve: (counts: number[]) => void
  readonly reject: (error: Error) => void
}

class Pipeline implements Submittable {
  readonly #options: PipelineOptions
  readonly #counts: number[] = []
  /**
   * Statements that this pipeline prepares. They exist for certain only after all of it succeeds.
   */
  readonly #new = new Map<string, string>()
  #connection: Connection | undefined

  constructor(options: PipelineOptions) {
    this.#options = options
  }

  submit(connection: Connection): void {
    this.#connection = connection
    const prepared = this.#options.limit === 0 ? new Map<string, string>() : preparedTexts(connection)
    const wire = connection as unknown as Wire
    connection.stream.cork()
    try {
      // Names of consecutive prepared statements without values, such as the resets between two
      // jobs. They are sent as one encoded chunk.
      let bare = ''
      for (const { text, values } of this.#options.statements) {
        const known = prepared.get(text) ?? this.#new.get(text)
        if (known !== undefined && values.length === 0) {
          bare += `${known} `
          continue
        }
        if (bare !== '') connection.stream.write(executing(bare))
        bare = ''
        wire.bind({ statement: known ?? this.#prepare(wire, prepared, text), values })
        wire.execute({})
      }
      if (bare !== '') connection.stream.write(executing(bare))
      wire.sync()
    } finally {
      connection.stream.uncork()
    }
  }

  #prepare(wire: Wire, prepared: ReadonlyMap<string, string>, text: string): string {
    const count = prepared.size + this.#new.size
    const name = count < this.#options.limit ? `hookonce_write_${count}` : ''
    // An earlier, failed pipeline may already have prepared a statement with this name.
    if (name !== '') wire.close({ type: 'S', name })
    wire.parse({ name, text, types: [] })
    if (name !== '') this.#new.set(text, name)
    return name
  }

  handleCommandComplete({ text }: { text: string }): void {
    // INSERT 0 1, UPDATE 1, DELETE 1, SELECT 1, CREATE TABLE
    this.#counts.push(isDigit(text.charCodeAt(text.length - 1)) ? Number(/\d+$/.exec(text)?.[0]) : 0)
  }

  handleReadyForQuery(): void {
    const prepared = this.#connection && preparedOn.get(this.#connection)
    for (const [text, name] of this.#new) prepared?.set(text, name)
    this.#options.resolve(this.#counts)
  }

  handleError(error: Error): void {
    // The server reports the error after the results of all earlier statements, so their number is
    // the position. After a broken connection the position is unknown.
    if (error instanceof pg.DatabaseError) failedAt.set(error, this.#counts.length)
    this.#options.reject(error)
  }

  handleEmptyQuery(): void {
    this.#counts.push(0)
  }

  // Ignores returned rows: callers need only the counts.
  handleRowDescription(): void {
    return undefined
  }

  handleDataRow(): void {
    return undefined
  }

  handlePortalSuspended(): void {
    return undefined
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

const encoded = new Map<string, Buffer>()
/**
 * User code determines which statements follow each other. Combinations beyond this limit are
 * encoded each time.
 */
const MAX_ENCODED = 100

/** Encodes Bind and Execute for prepared statements without values. Each name ends with a space. */
function executing(names: string): Buffer {
  const known = encoded.get(names)
  if (known) return known
  const bytes = Buffer.concat(names.trimEnd().split(' ').map(bindAndExecute))
  if (encoded.size < MAX_ENCODED) encoded.set(names, bytes)
  return bytes
}

function bindAndExecute(name: string): Buffer {
  // The unnamed portal; no parameter formats, no parameters, no result formats.
  const bind = Buffer.from(`B____\0${name}\0\0\0\0\0\0\0`, 'latin1')
  bind.writeInt32BE(bind.length - 1, 1)
  // The unnamed portal; no limit on rows.
  const execute = Buffer.from('E____\0\0\0\0\0', 'latin1')
  execute.writeInt32BE(execute.length - 1, 1)
  return Buffer.concat([bind, execute])
}

/** The protocol messages as pg's connection sends them. Its published types are outdated. */
interface Wire {
  parse(message: { name: string; text: string; types: readonly number[] }): void
  bind(message: { statement: string; values: readonly Sendable[] }): void
  execute(message: Record<string, never>): void
  close(message: { type: 'S'; name: string }): void
  sync(): void
}
