import { describe, expect, test } from 'vitest'
import { refuseInWrite } from './statement-kind.ts'

describe('a write that changes the session is refused, and the error names the alternative', () => {
  test.each([
    'set search_path = tenant_a',
    'SET LOCAL role app',
    '/* the tenant */ set session authorization app',
    'set constraints all deferred',
    'reset all',
    'discard temp',
    'deallocate all',
    'prepare mine as select 1',
    'listen news',
    'unlisten *',
    'declare c cursor with hold for select 1',
    'fetch all from c',
    `select set_config('app.tenant', $1, true)`,
    `select pg_catalog.SET_CONFIG ('app.tenant', $1, false)`,
    `with t as (select set_config('app.tenant', 'it''s', true)) insert into a select 1 from t`,
    `do $$ begin perform set_config('app.tenant', 'a', true); end $$`,
    'select pg_advisory_lock(1)',
    'select pg_try_advisory_lock_shared(1)',
  ])('%s', (text) => {
    expect(() => refuseInWrite(text)).toThrow(
      /^TRANSACTION_MISUSED: ".+" in ctx\.write\(\).+ctx\.transaction\(\)/,
    )
  })
})

describe('a write that leaves the session unchanged is not refused', () => {
  test.each([
    `update a set b = 'set_config(x)'`,
    `insert into log (text) values ($body$select set_config('a', 'b', true)$body$)`,
    'insert into a values (1) -- set_config(a)',
    'insert into settings (set_config) values ($1)',
    'update setting set reset = $1',
    'notify news',
    `select pg_notify('news', $1)`,
    'select pg_advisory_xact_lock(1)',
    'lock table a in share mode',
    'delete from prepare_list',
  ])('%s', (text) => {
    expect(() => refuseInWrite(text)).not.toThrow()
  })
})
