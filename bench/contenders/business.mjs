// @ts-check

/*
 * The business row: one per event. A queue whose completion is not in the transaction of the row
 * can run a job twice. The primary key then keeps the row unique, so that a crash at any point
 * neither doubles nor loses it.
 */

export const CREATE = `create table business (
  event_id text primary key,
  invoice_id text not null,
  amount integer not null,
  written_at timestamptz not null default clock_timestamp()
)`

export const WRITE = {
  name: 'business',
  text: 'insert into business (event_id, invoice_id, amount) values ($1, $2, $3) on conflict (event_id) do nothing',
}

/** @param {import('./serve.mjs').StripeEvent} event */
export function rowOf(event) {
  return [event.id, event.data.object.id, event.data.object.amount_paid]
}
