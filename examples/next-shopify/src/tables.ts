/** In your app, this is a migration. */
export const CREATE_TABLES = `
  create table if not exists orders (id bigint primary key);
  create table if not exists stock (sku text primary key, quantity integer not null);
  insert into stock (sku, quantity) values ('mug', 100), ('shirt', 50) on conflict do nothing`
