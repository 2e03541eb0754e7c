import type pg from 'pg';

/** Temporary tables last: nobody's can stand for one of the catalog. */
const path = 'pg_catalog, pg_temp';

/** For a transaction. The setting ends with it. */
export const trustLocally = `set local search_path = ${path}`;

/** For a transaction with a statement that a user wrote for the search path of the role. The setting ends with it. */
export const trustRoleLocally = 'set local search_path to default';

/**
 * Has the connection resolve names by the catalog alone. All other names of this package are qualified; but whoever may create
 * operators in a schema of the search path could have them called, and so run code as our role.
 *
 * The server does not end the connection for being idle either: the pool does, and a limit of the server would end some in the moment
 * in which they are used again.
 *
 * Not behind a pooler, which would hand the settings to other clients: it gives its clients process ids of its own. There only
 * our functions and transactions are safe; `alter role … set search_path` does the rest.
 */
export async function setUpConnection(client: pg.ClientBase): Promise<void> {
  const pid = 'processID' in client && typeof client.processID === 'number' ? client.processID : 0;
  // Versions that are too old, which the doctor names, have no such limit.
  await client.query(
    `select pg_catalog.set_config('search_path', $1, false),
       case when pg_catalog.current_setting('idle_session_timeout', true) is not null
         then pg_catalog.set_config('idle_session_timeout', '0', false) end
     where pg_catalog.pg_backend_pid() operator(pg_catalog.=) $2::pg_catalog.int4`,
    [path, pid],
  );
}
