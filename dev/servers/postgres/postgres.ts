import pg from 'pg';
import type { LocalContext } from '../local-context.ts';
import type { LocalNode, LocalOptions, ServerSource } from '../local-options.ts';
import { openContext } from '../open-context.ts';
import { makeDataFolder } from '../process/data-folder.ts';
import { freePort } from '../process/free-port.ts';
import { progressStep } from '../process/progress-step.ts';
import { startServer } from '../process/server-process.ts';
import { startOnFreePorts } from '../process/start-on-free-ports.ts';
import { dockerCandidate } from '../providers/docker.ts';
import { requireListener } from '../providers/given-address.ts';
import { firstOffer, mapOffer, sourceOrder } from '../providers/source-order.ts';
import { postgresFromRegistry, postgresOnPath } from './postgres-binaries.ts';
import { loginOf, type PostgresLauncher, postgresContainer, postgresProgram } from './postgres-launcher.ts';

/** A PostgreSQL server for development and tests. */
export interface LocalPostgres {
  /** Connection string of a superuser, for the database `outbox` where the server was started here. */
  readonly url: string;
  readonly source: ServerSource;
  /** Its process, where it was started here. */
  readonly node?: LocalNode;
  /** Ends the server and removes temporary data. A server given by its address is left alone. Safe to repeat. */
  stop(): Promise<void>;
}

export interface PostgresOptions extends LocalOptions {
  /** Whether a commit survives a power failure. False makes tests faster. @defaultValue true */
  readonly durable?: boolean;
  /** More server settings, as `name=value`. @defaultValue none */
  readonly settings?: readonly string[];
}

const readyWithinMs = 60_000;
const databaseName = 'outbox';

/**
 * Starts PostgreSQL 15 to 18, or takes the one that `DATABASE_URL` names.
 *
 * A server started here listens on 127.0.0.1 only, with a random password, and uses UTC and the collation `C`.
 *
 * @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` when no source offers one (with the reason of each), when it
 * does not start (with the end of its log), or when nothing listens at the given address.
 */
export async function startPostgres(options: PostgresOptions): Promise<LocalPostgres> {
  const given = options.env['DATABASE_URL'] ?? '';
  const order = sourceOrder(given, options.env);
  if (order[0] === 'address') {
    await requireGivenDatabase(given);
    return { url: given, source: 'address', stop: async () => {} };
  }
  const context = await openContext(options);
  const asProgram = (binaries: Parameters<typeof postgresProgram>[1]) => postgresProgram(context, binaries);
  const { source, found: launcher } = await firstOffer<PostgresLauncher>('PostgreSQL', order, {
    path: async () => mapOffer(await postgresOnPath(context), asProgram),
    docker: () => dockerCandidate(context, postgresContainer(context)),
    registry: async () => mapOffer(await postgresFromRegistry(context), asProgram),
  });
  const started = await startOnFreePorts(() => startBy(context, launcher, settingsOf(options)));
  return { ...started, source };
}

async function startBy(
  context: LocalContext,
  launcher: PostgresLauncher,
  settings: readonly string[],
): Promise<Pick<Required<LocalPostgres>, 'url' | 'node' | 'stop'>> {
  const data = await makeDataFolder(context, launcher.dataName, launcher.user);
  const login = await loginOf(data, launcher.user);
  await launcher.prepare(data, login);
  const port = await freePort(context.ports.postgres);
  const urlOf = (database: string) =>
    `postgresql://${login.user}:${login.password}@127.0.0.1:${port}/${database}`;
  const node = await progressStep(context.tell, `PostgreSQL: starting on port ${port}`, () =>
    startServer(context, {
      data,
      name: 'PostgreSQL',
      nodeId: 1,
      address: `127.0.0.1:${port}`,
      command: launcher.command(data, login, port, settings),
      stopSignal: 'SIGINT',
      // Not SIGKILL, after which its shared memory would stay allocated.
      discardSignal: 'SIGQUIT',
      readyWithinMs,
      survived: /pre-existing shared memory block/,
      probe: () => ensureDatabase(urlOf('postgres')),
    }),
  );
  return { url: urlOf(databaseName), node, stop: () => node.end() };
}

function settingsOf({ durable = true, settings: more = [] }: PostgresOptions): readonly string[] {
  const always = ['max_connections=200', 'timezone=UTC', 'log_timezone=UTC', 'autovacuum=on', ...more];
  if (durable) return always;
  // Such a server runs most statements once: to compile one takes longer than to run it.
  return [...always, 'fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'jit=off'];
}

/** Succeeds once the server accepts statements, and creates the database if it is missing. */
async function ensureDatabase(adminUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl, connectionTimeoutMillis: 2_000 });
  client.on('error', () => {}); // a connection that breaks fails its query
  try {
    await client.connect();
    const { rowCount } = await client.query('select from pg_database where datname = $1', [databaseName]);
    if (rowCount === 0) await client.query(`create database ${databaseName}`);
  } finally {
    await client.end();
  }
}

async function requireGivenDatabase(connectionString: string): Promise<void> {
  const { host, port } = new pg.Client({ connectionString });
  if (!host.startsWith('/')) await requireListener('DATABASE_URL', host, port);
}
