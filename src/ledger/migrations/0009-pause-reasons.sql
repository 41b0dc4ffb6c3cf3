-- oldest binary: 1
-- Why a source or subscriber is paused. Older binaries neither write nor clear the reason: if one
-- of them resumes and pauses, the earlier reason is shown again.

alter table ledger.source add column pause_reason text;
alter table ledger.subscriber add column pause_reason text;
