-- oldest binary: 1
-- Where the error of a failed attempt was thrown: at most 8,000 characters, without the message.
-- Null: written by an older binary, or no frame is outside of hookonce. Older binaries neither write
-- nor read it.
alter table ledger.attempt add column stack text;
-- The header that the last refusal was about. Null: it was about none. Older binaries leave it as it
-- is.
alter table ledger.rejection add column header text;
