-- Lets several processes carry one change of lanes on, and tells two living databases of one installation apart.
-- Locks: outbox.topic_change and outbox.installation, exclusively, for the moment in which a column is added; both have
-- a row or none. Claims and sends wait for that moment.

-- Which change it is: a call that was overtaken must not go on with the next change of the same topic.
alter table outbox.topic_change add column id uuid not null default gen_random_uuid();
