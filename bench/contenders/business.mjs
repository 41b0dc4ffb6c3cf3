// @ts-check

/*
 * The business row: one an event. The primary key is what makes it once where the queue can run a job twice (its
 * completion is not in the transaction of the row), so that a crash anywhere neither doubles nor loses it.
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
