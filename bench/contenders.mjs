// @ts-check
import { readFileSync } from 'node:fs'

/**
 * @typedef {object} Stores
 * @property {import('pg').Pool} db
 * @property {import('ioredis').Redis | undefined} redis
 */

/**
 * @typedef {object} Contender
 * @property {string} name
 * @property {string} file in contenders/
 * @property {string} does for the reader of the table
 * @property {string | undefined} version
 * @property {'everysec' | 'always'} [redis] it needs a Redis that syncs like this
 * @property {((stores: Stores) => Promise<number>)} [recorded] events recorded, while no worker runs
 * @property {((stores: Stores) => Promise<number>)} [unfinished] jobs that are not completed
 */

/** @type {readonly Contender[]} */
export const contenders = [
  {
    name: 'verify-only',
    file: 'verify-only.mjs',
    does: 'signature and JSON.parse; records nothing',
    version: undefined,
  },
  {
    name: 'bare-commit',
    file: 'bare-commit.mjs',
    does: 'id and body in a group commit, nothing else: the physical limit',
    version: versionOf('./node_modules/pg/package.json', 'pg'),
    recorded: ({ db }) => count(db, 'select count(*) as n from bare_event'),
  },
  {
    name: 'hookonce',
    file: 'hookonce.mjs',
    does: 'group-committed accept',
    version: versionOf('../package.json'),
    // Both tables are counted, because every event must be in both.
    recorded: ({ db }) =>
      count(
        db,
        'select least((select count(*) from hookonce.receipt), (select count(*) from hookonce.job)) as n',
      ),
    unfinished: ({ db }) => count(db, "select count(*) as n from hookonce.job where state <> 'processed'"),
  },
  {
    name: 'hand-written',
    file: 'hand-written.mjs',
    does: 'one INSERT … ON CONFLICT per delivery, SKIP LOCKED worker',
    version: versionOf('./node_modules/pg/package.json', 'pg'),
    recorded: ({ db }) => count(db, 'select count(*) as n from webhook_event'),
    unfinished: ({ db }) => count(db, 'select count(*) as n from webhook_event where processed_at is null'),
  },
  {
    name: 'pg-boss',
    file: 'pg-boss.mjs',
    does: 'send with id; transactional batches',
    version: versionOf('./node_modules/pg-boss/package.json'),
    recorded: ({ db }) => count(db, "select count(*) as n from pgboss.job where name = 'webhook'"),
    unfinished: ({ db }) =>
      count(db, "select count(*) as n from pgboss.job where name = 'webhook' and state <> 'completed'"),
  },
  {
    name: 'graphile-worker',
    file: 'graphile-worker.mjs',
    does: 'addJob with jobKey; local queue, batched completion',
    version: versionOf('./node_modules/graphile-worker/package.json'),
    recorded: ({ db }) => count(db, 'select count(*) as n from graphile_worker.jobs'),
    unfinished: ({ db }) => count(db, 'select count(*) as n from graphile_worker.jobs'),
  },
  bullmq('everysec'),
  bullmq('always'),
]

/**
 * @param {'everysec' | 'always'} redis
 * @returns {Contender}
 */
function bullmq(redis) {
  return {
    name: `bullmq-${redis}`,
    file: 'bullmq.mjs',
    does: `add with jobId; Redis appendfsync ${redis}`,
    version: versionOf('./node_modules/bullmq/package.json'),
    redis,
    recorded: async (stores) => (await stores.redis?.llen('bull:webhook:wait')) ?? 0,
    async unfinished(stores) {
      const lists = await Promise.all(
        ['wait', 'active'].map((list) => stores.redis?.llen(`bull:webhook:${list}`)),
      )
      const sets = await Promise.all(
        ['delayed', 'failed'].map((set) => stores.redis?.zcard(`bull:webhook:${set}`)),
      )
      return [...lists, ...sets].reduce((/** @type {number} */ sum, n) => sum + (n ?? 0), 0)
    },
  }
}

/** @param {string[]} names */
export function contendersNamed(names) {
  return names.map((name) => {
    const found = contenders.find((contender) => contender.name === name)
    if (!found)
      throw new Error(`no contender "${name}"; there are: ${contenders.map((c) => c.name).join(', ')}`)
    return found
  })
}

/**
 * @param {import('pg').Pool} db
 * @param {string} query
 */
async function count(db, query) {
  const result = await db.query(query)
  return Number(result.rows[0].n)
}

/**
 * @param {string} path
 * @param {string} [named]
 */
function versionOf(path, named) {
  try {
    const { version } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
    return named ? `${named} ${version}` : version
  } catch {
    throw new Error(`${path} is not there: run \`npm ci\` in bench/ first`)
  }
}
