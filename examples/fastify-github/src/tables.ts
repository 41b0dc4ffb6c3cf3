/** In your app, this is a migration. */
export const CREATE_TABLES = `create table if not exists pull_requests (
  id bigint primary key,
  repository text not null,
  number integer not null,
  state text not null
)`
