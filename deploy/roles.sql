-- Roles with the least rights, one for each part of the product. Run it as a superuser, or as the owner of the database with
-- CREATEROLE, before the first `temporal-outbox migrate` and after every one. It may be repeated at any time.
--
-- No role can log in yet. Either let it:      alter role outbox_relay login password '…';
-- or make a role of your own a member of it:  grant outbox_sender to shop;
-- The owner and the relay make tables, so let these two log in by these names.
--
--   outbox_owner     owns the schema outbox, and nothing else: `migrate`, `adopt`
--   outbox_relay     acts as the owner, because relays make and drop leaves of the log and months of the history
--   outbox_sender    sends, cancels, reschedules and schedules, in the transactions of your service
--   outbox_consumer  handles messages once, and keeps those that fail, in the database of its handlers
--   outbox_viewer    reads everything, payloads too: `status`, `list`, `show`, `verify`, `doctor`
--   outbox_operator  what a viewer may, and changes: `retry`, `edit`, `cancel`, `pause`, `bulk`, `inbox`, …

do $$
declare
  part text;
  thing text;
begin
  foreach part in array array['owner', 'relay', 'sender', 'consumer', 'viewer', 'operator'] loop
    if to_regrole('outbox_' || part) is null then execute format('create role %I', 'outbox_' || part); end if;
  end loop;
  grant outbox_owner to outbox_relay;
  alter role outbox_relay set role = 'outbox_owner';
  grant outbox_viewer to outbox_operator;

  -- To name the transaction that keeps a lane locked. Only who may grant it can: without it such a transaction has no name.
  begin
    grant pg_read_all_stats to outbox_viewer;
  exception when insufficient_privilege then
    raise notice 'outbox_viewer was not granted pg_read_all_stats: %', sqlerrm;
  end;

  -- To end such a transaction by pg_terminate_backend is no right of these roles, because it reaches every database of the server.
  -- Give it to the person who is on call:  grant pg_signal_backend to ada;

  -- The first migration makes the schema; later ones need no right outside of it.
  if to_regnamespace('outbox') is null then
    execute format('grant create on database %I to outbox_owner', current_database());
    return;
  end if;
  execute format('revoke create on database %I from outbox_owner', current_database());

  -- Whatever another role has made in the schema belongs to its owner.
  for thing in
    select 'schema outbox' from pg_namespace n where n.nspname = 'outbox' and n.nspowner <> 'outbox_owner'::regrole
    union all
    select case c.relkind when 'v' then 'view ' when 'S' then 'sequence ' else 'table ' end || c.oid::regclass
    from pg_class c where c.relnamespace = 'outbox'::regnamespace and c.relowner <> 'outbox_owner'::regrole
      and c.relkind in ('r', 'p', 'v', 'S')
      -- The sequence of an identity column follows its table.
      and not (c.relkind = 'S' and exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i'))
    union all
    select 'function ' || p.oid::regprocedure from pg_proc p
    where p.pronamespace = 'outbox'::regnamespace and p.proowner <> 'outbox_owner'::regrole
    union all
    select 'type ' || t.oid::regtype from pg_type t left join pg_class c on c.oid = t.typrelid
    where t.typnamespace = 'outbox'::regnamespace and t.typowner <> 'outbox_owner'::regrole and t.typelem = 0
      and (t.typrelid = 0 or c.relkind = 'c')
  loop
    execute format('alter %s owner to outbox_owner', thing);
  end loop;

  grant usage on schema outbox to outbox_sender, outbox_consumer, outbox_viewer;

  -- Sender.
  -- To run a schedule by hand is to store its message.
  grant usage on sequence outbox.message_position to outbox_sender, outbox_operator;
  grant select on outbox.migration, outbox.installation, outbox.topic, outbox.leaf, outbox.lane, outbox.batch, outbox.log,
    outbox.log_passed, outbox.log_history, outbox.message, outbox.message_history, outbox.message_view, outbox.message_all,
    outbox.schedule to outbox_sender;
  grant insert, update, delete on outbox.message, outbox.schedule to outbox_sender;

  -- Consumer.
  grant select on outbox.migration, outbox.installation, outbox.lane, outbox.bulk_operation, outbox.processed_epoch
    to outbox_consumer;
  -- To recognize a copy of the database, and to keep the ids of live messages; their payloads are not for it.
  grant select (id, created_at, position, xid, workflow_id) on outbox.message, outbox.log to outbox_consumer;
  -- A bulk operation on what a group keeps is run by its consumers, which also note what of an epoch they have carried on.
  grant update on outbox.bulk_operation, outbox.processed_epoch to outbox_consumer;
  grant select, insert on outbox.audit to outbox_consumer;
  grant select, insert, update, delete on outbox.consumer_group, outbox.consumer, outbox.processed, outbox.parked_key,
    outbox.parked, outbox.mark, outbox.breaker, outbox.letter_turn to outbox_consumer;
  grant execute on function outbox.roll_processed, outbox.drop_processed to outbox_consumer;

  -- Viewer: also what later migrations add.
  grant select on all tables in schema outbox to outbox_viewer;
  grant select on all sequences in schema outbox to outbox_viewer;
  alter default privileges for role outbox_owner in schema outbox grant select on tables to outbox_viewer;

  -- Operator.
  grant insert on outbox.audit to outbox_operator;
  grant insert, update on outbox.message, outbox.lane, outbox.transport, outbox.topic_change, outbox.bulk_operation, outbox.parked,
    outbox.parked_key to outbox_operator;
  grant update on outbox.topic, outbox.schedule, outbox.freed_key to outbox_operator;
  grant insert on outbox.processed to outbox_operator;
  grant update, delete on outbox.log, outbox.log_passed to outbox_operator;
  -- To expunge: of an archived message only these may be changed.
  grant update (payload, headers, last_error, expunged_at) on outbox.log_history, outbox.message_history to outbox_operator;
  grant update (error) on outbox.attempt to outbox_operator;
  grant delete on outbox.topic_change, outbox.parked_key to outbox_operator;
  grant insert, update, delete on outbox.alert_silence, outbox.request, outbox.api_session, outbox.sign_in_try to outbox_operator;

  -- Whoever may insert messages, also into the current leaf of the log. Each new leaf has that from the relay.
  perform outbox.grant_log();
  -- Processed ids are inserted into the current partition by name; each new one has the rights of outbox.processed.
  for thing in
    select i.inhrelid::regclass::text from pg_inherits i where i.inhparent = 'outbox.processed'::regclass
  loop
    execute format('grant select, insert, update, delete on %s to outbox_consumer', thing);
    execute format('grant insert on %s to outbox_operator', thing);
  end loop;
end
$$;
