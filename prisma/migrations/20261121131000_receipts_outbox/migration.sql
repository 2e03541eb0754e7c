-- Finds the messages whose receipt is overdue, and those of their keys that came before them.
-- Locks: building an index keeps writers of outbox.message waiting (SHARE) while the table is read once. Both indexes
-- are partial and hold only messages that wait for a receipt.

-- Rows that were published and have no receipt yet, the longest overdue first. Positions are always above 0: the
-- predicate keeps the planner from taking this index for the earlier rows of one key, where it would read all others.
create index message_overdue on outbox.message (topic, confirm_by, position)
  where state = 'published' and confirm_by is not null and position > 0;

-- The same rows by key: a message is sent again only together with, or after, the earlier ones of its key.
create index message_unconfirmed on outbox.message (topic, key, position)
  where state = 'published' and confirm_by is not null;
