import { once } from 'node:events'
import { chmodSync, createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { KEY_DAYS } from './ledger-clock.ts'

/*
 * The observations of the witnesses outside of the ledger. They are written to files, so that a run
 * may be long, and loaded into tables of the schema `history` at the end: the checks are SQL.
 */
export interface HistoryRows {
  /** One request of a sender. No status: no answer arrived. */
  delivery: { event: number; app: string; sent_ms: number; answered_ms: number; status: number | null }
  /** One request that reached the called service. */
  call: { event: number; kind: string; key: string; acted: boolean; reply: string; at_ms: number }
  /** An action of the operator. Not done: it failed, or its outcome is unknown. */
  act: { event: number; verb: string; subscriber: string; from_ms: number; to_ms: number; done: boolean }
  /** With loss: acknowledged events that were sent before its end may be lost. */
  fault: { name: string; detail: string; from_ms: number; to_ms: number; loss: boolean }
  /** An attempt to move the time of the ledger ahead. */
  shift: { from_ms: number; to_ms: number; days: number }
}

const TABLES: { readonly [Name in keyof HistoryRows]: string } = {
  delivery: 'event integer, app text, sent_ms integer, answered_ms integer, status integer',
  call: 'event integer, kind text, key text, acted boolean, reply text, at_ms integer',
  act: 'event integer, verb text, subscriber text, from_ms integer, to_ms integer, done boolean',
  fault: 'name text, detail text, from_ms integer, to_ms integer, loss boolean',
  shift: 'from_ms integer, to_ms integer, days integer',
}
const names = Object.keys(TABLES) as (keyof HistoryRows)[]
/** The schema `history` with the tables of the witnesses. */
export const HISTORY_TABLES = `create schema history;
${names.map((name) => `create table history.${name} (${TABLES[name]});`).join('\n')}`

/**
 * `aged`: events whose key has expired since they were first sent, and how often. They are new again
 * when they are sent again. `forgotten`: these, and events with a job that failed and cannot be
 * replayed, because its body has expired.
 */
export const FORGOTTEN = `
  create view history.aged as select event, expiries from (
    select d.event, (select sum(s.days) from history.shift s where s.to_ms >= min(d.sent_ms)) / ${KEY_DAYS} as expiries
    from history.delivery d group by d.event
  ) e where expiries > 0;
  create view history.forgotten as select event from history.aged union
    select k.event from history.known k join hookonce.receipt r on r.id = k.id
    join history.job j on j.event = k.event where j.state = 'failed' and r.body is null`

const columnsOf = (table: keyof HistoryRows): string[] =>
  TABLES[table].split(', ').map((column) => column.slice(0, column.indexOf(' ')))

export interface History {
  /** Milliseconds since the run began. */
  now(): number
  add<Name extends keyof HistoryRows>(table: Name, row: HistoryRows[Name]): void
  /** The number of added rows. */
  count(table: keyof HistoryRows): number
  /** Loads everything into the schema `history` of a database. */
  load(pool: pg.Pool): Promise<void>
  /** Where its files are. */
  readonly dir: string
  /** Keeps the files after the run. */
  keep(): void
  remove(): void
}

/** Rows are written to their file in pieces of about this size. */
const PIECE = 64 * 1024

/** A value as COPY reads it. */
function field(value: unknown): string {
  return value === null || value === undefined ? '\\N' : String(value).replaceAll(/[\\\t\r\n]/g, ' ')
}

export function openHistory(): History {
  const beganAt = performance.now()
  const beganAtMs = Date.now()
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-history-'))
  let isKept = false
  // PostgreSQL reads the files, as another user.
  chmodSync(dir, 0o755)
  const pathOf = (table: keyof HistoryRows): string => join(dir, `${table}.tsv`)
  const tables = Object.fromEntries(
    names.map((name) => [
      name,
      { file: createWriteStream(pathOf(name)), columns: columnsOf(name), unwritten: '', count: 0 },
    ]),
  )

  async function loadTable(pool: pg.Pool, table: keyof HistoryRows): Promise<void> {
    const written = tables[table]
    if (!written) return
    written.file.end(written.unwritten)
    if (!written.file.closed) await once(written.file, 'close')
    await pool.query(`copy history.${table} from '${pathOf(table)}'`)
  }

  return {
    now: () => Math.round(performance.now() - beganAt),
    add(table, row) {
      const written = tables[table]
      if (!written) return
      written.count += 1
      const values = new Map<string, unknown>(Object.entries(row))
      written.unwritten += `${written.columns.map((column) => field(values.get(column))).join('\t')}\n`
      if (written.unwritten.length < PIECE) return
      written.file.write(written.unwritten)
      written.unwritten = ''
    },
    count: (table) => tables[table]?.count ?? 0,
    async load(pool) {
      await pool.query(HISTORY_TABLES)
      for (const name of names) await loadTable(pool, name)
      await pool.query(prepared(beganAtMs))
    },
    dir,
    keep() {
      isKept = true
    },
    remove() {
      if (!isKept) rmSync(dir, { recursive: true, force: true })
    },
  }
}

/*
 * `known`: the events that the ledger has. `loss`: the times of commits that a standby missed.
 * `spanned`: jobs whose last run began before such a failover and ended after it.
 */
const prepared = (beganAtMs: number): string => `
  create table history.known as
    select substr(event_key, 5)::integer as event, shard, id from hookonce.receipt;
  create unique index on history.known (event);
  create index on history.delivery (event);
  create index on history.call (event);
  create index on history.act (event);
  create view history.loss as select from_ms, to_ms from history.fault where loss;
  create table history.job as
    select k.event, s.name as subscriber, j.state, j.reason, j.epoch, j.lane_seq,
      extract(epoch from j.started_at) * 1000 - ${beganAtMs} as started_ms,
      extract(epoch from j.finished_at) * 1000 - ${beganAtMs} as finished_ms
    from history.known k join hookonce.job j on j.shard = k.shard and j.receipt_id = k.id
    join hookonce.subscriber s on s.id = j.subscriber;
  create index on history.job (event);
  create index on history.job (subscriber);
  create view history.spanned as select j.event, j.subscriber from history.job j
    where exists (select from history.loss l where j.started_ms <= l.to_ms and j.finished_ms >= l.from_ms);
  ${FORGOTTEN};
  analyze`
