export async function createTables(pool) {
  await pool.query(`create table if not exists invoices (
    id text primary key,
    status text not null,
    amount integer
  )`)
}
