-- Lets a topic ask for confirmation by its consumer.
-- Locks: adds nullable columns to outbox.topic, briefly.

-- Set together, or not at all: the consumer group whose receipt counts, how long it may take after each send (the last
-- value for all further ones), and how often a message is sent before it is given up.
alter table outbox.topic
  add column confirm_group text,
  add column confirm_within_ms bigint[],
  add column confirm_max_sends integer check (confirm_max_sends between 1 and 100),
  add constraint confirm_whole check (num_nulls(confirm_group, confirm_within_ms, confirm_max_sends) in (0, 3));
