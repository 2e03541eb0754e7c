-- Lets a message say the version of its payload, in the header outbox-version: 1 to 1,000,000, as text. Callers of
-- outbox.send in other languages set it as they set their own headers; without it a payload is of version 1.
-- Locks: no table; it replaces one function, and statements under way end with the old one.

create or replace function outbox.headers_fit(headers jsonb) returns boolean language sql immutable
as $$
  select case coalesce(jsonb_typeof(headers), 'null')
    when 'null' then true
    when 'object' then not exists (
      select from jsonb_each(headers) h
      where jsonb_typeof(h.value) <> 'string' or h.key !~ '^[a-z0-9][a-z0-9_.-]{0,127}$'
        or h.key ~ '^(ce_|outbox-|content-type$)'
          and (h.key <> 'outbox-version' or h.value #>> '{}' !~ '^([1-9][0-9]{0,5}|1000000)$'))
    else false
  end
$$;
