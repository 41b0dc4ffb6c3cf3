/** In your app, this is a migration. */
export const CREATE_TABLES = `create table if not exists members (
  id text primary key,
  email text not null
)`
