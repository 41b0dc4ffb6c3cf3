-- oldest binary: 1
-- Each refused call begins a new epoch of its effect. A key that many events share may need more
-- than 32,767 epochs.
--
-- PostgreSQL locks the table while it rewrites it. Stop older binaries first. If they keep running,
-- they fail to read effects on connections that have prepared the statement, until they reconnect.
-- No effect happens twice, but each failure uses up an attempt.
alter table ledger.effect alter column epoch type integer;
