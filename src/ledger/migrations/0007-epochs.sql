-- oldest binary: 1
-- Each refusal of a call begins a new epoch of its effect, so a key that many events share may need more than 32,767.
-- The table is rewritten, and locked meanwhile.
alter table hookonce.effect alter column epoch type integer;
