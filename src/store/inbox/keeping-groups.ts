/**
 * The common table `keeping (name)` of a recursive query: the groups that keep messages. It goes from name to name, because the
 * messages of a group may be many. The last row is null.
 */
export const keepingGroups = `keeping (name) as (
       select min(p.consumer_group) from outbox.parked p
       union all
       select (select min(p.consumer_group) from outbox.parked p where p.consumer_group > n.name)
       from keeping n where n.name is not null
     )`;
