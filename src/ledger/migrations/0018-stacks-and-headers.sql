-- oldest binary: 1
-- Where the error of a failed attempt was thrown: at most 8,000 characters, without the message.
-- Null: an older binary wrote the row, or every frame is inside hookonce. Older binaries neither
-- write nor read this column.
alter table ledger.attempt add column stack text;
-- The header that caused the last rejection. Null: no header did. Older binaries do not change it.
alter table ledger.rejection add column header text;
