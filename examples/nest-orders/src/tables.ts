import pg from 'pg'

/** In your app, this is a migration. */
export async function createTables(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query(`create table if not exists orders (
    id uuid primary key,
    customer text not null,
    sku text not null,
    status text not null
  )`)
  await client.end()
}
