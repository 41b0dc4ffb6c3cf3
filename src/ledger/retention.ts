import { change, type Queryable, statement } from './statement.ts'

/*
 * Retention has two clocks: bodies go early, keys stay at least as long as any provider can retry. Each
 * statement takes a small batch from one shard, and passes over what another process is sweeping. A receipt with
 * live jobs is left alone, whatever its age: its work is not done. Rows are changed at the places where they were locked:
 * in a join the planner, which cannot know how few they are, would rather read the whole shard.
 */

const SWEEP_BODIES = statement(
  'sweep_bodies',
  `with clock as materialized (
     select now() - max(body_seconds) * interval '1 second' as until,
       coalesce((select bodies_swept_to from hookonce.sweep where shard = $1::smallint), '-infinity') as since
     from hookonce.source
   ), due as materialized (
     select r.ctid as at from hookonce.receipt r
     where r.shard = $1::smallint
       and r.received_at >= (select since from clock) and r.received_at <= (select until from clock)
       and r.body is not null
       and not exists (select from hookonce.job j where j.shard = $1::smallint and j.receipt_id = r.id
         and j.state in ('received', 'processing', 'retrying', 'attention'))
     order by r.received_at limit $2::integer
     for update skip locked
   )
   update hookonce.receipt r set body_sha256 = sha256(r.body), body = null, headers = null
   where r.shard = $1::smallint and r.ctid = any(array(select at from due))`,
)

/** Returns how many bodies went. */
export async function sweepBodies(db: Queryable, shard: number, limit: number): Promise<number> {
  return change(db, SWEEP_BODIES, [shard, limit])
}

/*
 * Moves the mark up to the oldest body that is still there, or to the clock's hand if none is. Kept apart from
 * the sweep, whose own changes are not visible inside its statement.
 */
const MARK_SWEPT = statement(
  'mark_swept',
  `with clock as materialized (
     select now() - max(body_seconds) * interval '1 second' as until,
       coalesce((select bodies_swept_to from hookonce.sweep where shard = $1::smallint), '-infinity') as since
     from hookonce.source
   )
   insert into hookonce.sweep (shard, bodies_swept_to)
   select $1::smallint, coalesce(
     (select r.received_at from hookonce.receipt r
      where r.shard = $1::smallint and r.received_at >= (select since from clock)
        and r.received_at <= (select until from clock) and r.body is not null
      order by r.received_at limit 1), until)
   from clock where until is not null
   on conflict (shard) do update set bodies_swept_to = excluded.bodies_swept_to`,
)

export async function markBodiesSwept(db: Queryable, shard: number): Promise<void> {
  await change(db, MARK_SWEPT, [shard])
}

const SWEEP_KEYS = statement(
  'sweep_keys',
  `with due as materialized (
     select r.ctid as at, r.id from hookonce.receipt r
     where r.shard = $1::smallint
       and r.received_at <= (select now() - max(key_seconds) * interval '1 second' from hookonce.source)
       and not exists (select from hookonce.job j where j.shard = $1::smallint and j.receipt_id = r.id
         and j.state in ('received', 'processing', 'retrying', 'attention'))
     order by r.received_at limit $2::integer
     for update skip locked
   ), jobs as (
     delete from hookonce.job where shard = $1::smallint and receipt_id = any(array(select id from due))
   ), attempts as (
     delete from hookonce.attempt where shard = $1::smallint and receipt_id = any(array(select id from due))
   ), steps as (
     delete from hookonce.step where shard = $1::smallint and receipt_id = any(array(select id from due))
   ), duplicates as (
     delete from hookonce.duplicate where shard = $1::smallint and receipt_id = any(array(select id from due))
   )
   delete from hookonce.receipt where shard = $1::smallint and ctid = any(array(select at from due))`,
)

/** Returns how many receipts went, with all that hung on them. */
export async function sweepKeys(db: Queryable, shard: number, limit: number): Promise<number> {
  return change(db, SWEEP_KEYS, [shard, limit])
}
