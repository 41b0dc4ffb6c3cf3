-- oldest binary: 1
-- One sentence: why the last diagnosed delivery was rejected. It stays while later rejections are
-- only counted.
alter table ledger.rejection add column diagnosis text not null default '';
