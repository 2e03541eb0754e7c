-- Lets several processes carry one change of lanes on, and tells two living databases of one installation apart.
-- Locks: outbox.topic_change and outbox.installation, exclusively, for the moment in which a column is added; both have
-- a row or none. Claims and sends wait for that moment.

-- Which change it is: a call that was overtaken must not go on with the next change of the same topic.
alter table outbox.topic_change add column id uuid not null default gen_random_uuid();

-- What relays ask each other: is this row in the database that you write to? Whoever asks writes it, and deletes it.
create table outbox.place_question (
  id          uuid primary key,
  asked_at    timestamptz not null default now(),
  answered_at timestamptz
);

alter table outbox.installation
  -- Start of the server that the last relay found here. After a restart, a failover and in a clone it is another one.
  add column served_since timestamptz,
  -- The last sight of another living database that is this installation too: {"place": …, "seenAt": …}.
  add column twin jsonb;
