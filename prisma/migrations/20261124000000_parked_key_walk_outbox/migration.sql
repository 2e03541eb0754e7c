-- The order in which due keys are walked through is that of an index, so that nothing has to be sorted for a page of them;
-- PostgreSQL 15 sorted all, as long as its statistics were of before a burst.
-- Locks: outbox.parked_key against writes, while the index over it is built.

drop index outbox.parked_key_next;
create index parked_key_next on outbox.parked_key (consumer_group, next_at, id);
