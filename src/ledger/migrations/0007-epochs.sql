-- oldest binary: 1
-- Each refusal of a call begins a new epoch of its effect, so a key that many events share may need more than 32,767.
-- The table is rewritten, and locked meanwhile. Older binaries that run meanwhile fail to read effects on connections that
-- have prepared the statement, until they connect anew: nothing is doubled, but attempts are used up. Stop them first.
alter table ledger.effect alter column epoch type integer;
