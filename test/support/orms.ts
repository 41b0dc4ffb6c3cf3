import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { DataSource, EntitySchema } from 'typeorm'
import { onTestFinished } from 'vitest'
import type { TransactionAdapter } from '../../src/effects/adapters/contract.ts'
import { drizzleAdapter } from '../../src/effects/adapters/drizzle.ts'
import { knexAdapter } from '../../src/effects/adapters/knex.ts'
import { kyselyAdapter } from '../../src/effects/adapters/kysely.ts'
import { pgAdapter } from '../../src/effects/adapters/pg.ts'
import { prismaAdapter } from '../../src/effects/adapters/prisma.ts'
import { typeormAdapter } from '../../src/effects/adapters/typeorm.ts'

/* Real libraries, each with its adapter, writing to the table payment (invoice text primary key). */

/** One library on one database. */
export interface Orm<Native = unknown> {
  readonly on: TransactionAdapter<Native>
  /** Writes through the library, in the given transaction. */
  pay(native: Native, invoice: string): Promise<unknown>
  /** Runs any statement, so that errors of the server arrive in the library's form. */
  raw(native: Native, statement: string): Promise<unknown>
}

function poolOf(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 3 })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  return pool
}

function withPg(url: string): Orm<pg.PoolClient> {
  return {
    on: pgAdapter(poolOf(url)),
    pay: (client, invoice) => client.query('insert into payment values ($1)', [invoice]),
    raw: (client, statement) => client.query(statement),
  }
}

function withDrizzle(url: string) {
  const payment = pgTable('payment', { invoice: text().primaryKey() })
  const on = drizzleAdapter(drizzle(poolOf(url)))
  return orm({
    on,
    pay: async (db, invoice) => db.insert(payment).values({ invoice }),
    raw: async (db, statement) => db.execute(statement),
  })
}

function withKysely(url: string) {
  const db = new Kysely<{ payment: { invoice: string } }>({
    dialect: new PostgresDialect({ pool: poolOf(url) }),
  })
  return orm({
    on: kyselyAdapter(db),
    pay: (trx, invoice) => trx.insertInto('payment').values({ invoice }).execute(),
    raw: (trx, statement) =>
      trx.executeQuery({
        sql: statement,
        parameters: [],
        query: { kind: 'RawNode' },
        queryId: { queryId: '' },
      } as never),
  })
}

function withKnex(url: string) {
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 3 } })
  onTestFinished(() => db.destroy())
  return orm({
    on: knexAdapter(db),
    pay: async (trx, invoice) => trx('payment').insert({ invoice }),
    raw: async (trx, statement) => trx.raw(statement),
  })
}

async function withTypeOrm(url: string) {
  const Payment = new EntitySchema<{ invoice: string }>({
    name: 'payment',
    columns: { invoice: { type: String, primary: true } },
  })
  const dataSource = await new DataSource({ type: 'postgres', url, entities: [Payment] }).initialize()
  onTestFinished(() => dataSource.destroy())
  return orm({
    on: typeormAdapter(dataSource),
    pay: (manager, invoice) => manager.insert(Payment, { invoice }),
    raw: (manager, statement) => manager.query(statement),
  })
}

interface PrismaTransaction {
  readonly payment: { create(row: { data: { invoice: string } }): Promise<unknown> }
  $queryRawUnsafe(query: string, ...values: unknown[]): Promise<unknown>
  $executeRawUnsafe(query: string): Promise<unknown>
}

interface PrismaClient extends PrismaTransaction {
  $transaction<Result>(work: (tx: PrismaTransaction) => Promise<Result>): Promise<Result>
  $disconnect(): Promise<void>
}

const PRISMA = fileURLToPath(new URL('../prisma/', import.meta.url))

async function withPrisma(url: string) {
  const required = createRequire(join(makePrisma(), 'package.json'))
  const { PrismaClient } = required('./generated/index.js') as {
    PrismaClient: new (options: { adapter: unknown }) => PrismaClient
  }
  const { PrismaPg } = required('@prisma/adapter-pg') as {
    PrismaPg: new (options: { connectionString: string }) => unknown
  }
  const client = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })
  onTestFinished(() => client.$disconnect())
  return orm({
    on: prismaAdapter(client),
    pay: (tx, invoice) => tx.payment.create({ data: { invoice } }),
    raw: (tx, statement) => tx.$executeRawUnsafe(statement),
  })
}

/**
 * Installs Prisma and generates its client, once per machine. Into another folder first, because
 * two processes may do it in parallel.
 */
export function makePrisma(): string {
  const made = join(PRISMA, 'made')
  if (existsSync(made)) return made
  const making = mkdtempSync(join(PRISMA, 'making-'))
  for (const file of ['package.json', 'package-lock.json', 'schema.prisma'])
    cpSync(join(PRISMA, file), join(making, file))
  // Generating needs no engine, but without a configured engine the command would download it.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }
  execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: making, stdio: 'ignore' })
  execFileSync('npx', ['prisma', 'generate'], { cwd: making, stdio: 'ignore', env })
  try {
    renameSync(making, made)
  } catch (error) {
    rmSync(making, { recursive: true })
    if (!existsSync(made)) throw error
  }
  return made
}

function orm<Native>(made: Orm<Native>): Orm {
  return made as Orm
}

/** Libraries by name. Each function creates the library on the database of this URL. */
export const orms: readonly { name: string; open(url: string): Orm | Promise<Orm> }[] = [
  { name: 'pg', open: (url) => orm(withPg(url)) },
  { name: 'Drizzle', open: withDrizzle },
  { name: 'Kysely', open: withKysely },
  { name: 'Knex', open: withKnex },
  { name: 'TypeORM', open: withTypeOrm },
  { name: 'Prisma', open: withPrisma },
]
