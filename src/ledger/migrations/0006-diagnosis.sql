-- oldest binary: 1
-- Why the last case that was looked into was refused: one sentence, kept while later cases are only counted.
alter table ledger.rejection add column diagnosis text not null default '';
