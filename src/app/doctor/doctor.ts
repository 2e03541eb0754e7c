import type { Examined } from '../../brokers/capabilities.ts';
import type { Transport } from '../../brokers/transport.ts';
import {
  type Config,
  defineConfig,
  type RelayConfig,
  requireDatabase,
  transportOf,
} from '../../config/config.ts';
import { databaseOf } from '../../config/database-config.ts';
import { temporalOf } from '../../config/temporal-config.ts';
import { counted, type DoctorFinding, judgeAll } from '../../core/diagnosis.ts';
import { OutboxError } from '../../core/errors.ts';
import { late, orLate } from '../../core/or-late.ts';
import { requirePackages } from '../../core/packages.ts';
import { receiptsAddress } from '../../core/receipt.ts';
import { resolveRetention } from '../../core/retention.ts';
import type { Topic } from '../../core/topic.ts';
import { temporalChecks } from '../../operations/doctor/temporal-checks.ts';
import { normalVacuum, type VacuumLimits } from '../../operations/doctor/vacuum-checks.ts';
import { relayConnections } from '../relay/relay-connections.ts';
import { policyOf } from '../relay/topic-policy.ts';
import { type WantedGroups, wantedAddresses } from '../wanted-groups.ts';
import { type DatabaseExamination, examineDatabase } from './doctor-database.ts';
import { asFindings, askTwice } from './doctor-findings.ts';
import { examineGroups } from './examine-groups.ts';

export type { DoctorFinding };

export interface DoctorOptions {
  /** Time limit of each check; one that exceeds it twice is reported as not examined. Milliseconds. @defaultValue 7,000 */
  readonly withinMs?: number;
  /** @defaultValue {@link normalVacuum} */
  readonly vacuum?: VacuumLimits;
  /** Also examine what these groups need to receive. @defaultValue none */
  readonly groups?: WantedGroups | undefined;
  /** Milliseconds since 1970 by this machine's clock. @defaultValue `Date.now` */
  readonly now?: () => number;
}

/**
 * Examines every server of a configuration at the same time, and what the outbox needs of it. Writes nothing, and starts
 * nothing. A server that is away or refuses is a problem; one that times out twice is reported as not examined.
 *
 * @throws OutboxError `OUTBOX_CONFIG_MISSING` without a database, and as `defineConfig`
 */
export async function examineAll(
  given: Config,
  options: DoctorOptions = {},
): Promise<readonly DoctorFinding[]> {
  const config = requireDatabase(defineConfig(given), 'The command doctor');
  const { groups = { groups: [] }, withinMs = 7_000 } = options;
  const receiving = wantedAddresses(config, groups);
  await loadClients(config);
  const database = askTwice(() => inTime('PostgreSQL', withinMs, () => askDatabase(config, options)));
  const known = database.catch(() => undefined);
  // Their time does not run while they wait for the database, or a dead database would be blamed on them, too.
  const timely = <Answer>(server: string, work: () => Promise<Answer>): Promise<Answer> =>
    askTwice(() => inTime(server, withinMs, work, known));
  const parts = [
    asFindings('postgres', async () => (await database).findings),
    asFindings('temporal', () => timely('Temporal', () => askTemporal(config, known))),
    ...Object.entries(config.transports).map(([name, transport]) =>
      asFindings(name, () =>
        timely(name, async () => {
          try {
            const found = await askTransport(config, name, transport, known);
            const addresses = receiving.get(transport) ?? [];
            return [
              ...found,
              ...(await asFindings(name, () => examineGroups(name, transport, addresses, groups))),
            ];
          } finally {
            await transport.close();
          }
        }),
      ),
    ),
  ];
  return (await Promise.all(parts)).flat();
}

/** Loading a client blocks the process, on a busy machine for seconds, in which the other checks would time out. */
async function loadClients({ transports }: Config): Promise<void> {
  await import('../../temporal/examine.ts').catch(() => undefined);
  for (const transport of Object.values(transports)) transport.prepare?.();
}

type Known = Promise<DatabaseExamination | undefined>;

async function askDatabase(config: RelayConfig, options: DoctorOptions): Promise<DatabaseExamination> {
  return examineDatabase({
    at: databaseOf(config.database),
    configured: config.topics.map((topic) => policyOf(topic, transportOf(config, topic).name)),
    historyMs: resolveRetention(config.retention).historyMs,
    archiveAfterMs: resolveRetention(config.retention).archiveAfterMs,
    relayConnections: relayConnections(config, 0) + 1,
    vacuum: options.vacuum ?? normalVacuum,
    now: options.now ?? Date.now,
  });
}

async function askTemporal(config: Config, known: Known): Promise<readonly DoctorFinding[]> {
  requirePackages('temporal');
  const target = temporalOf(config.temporal);
  const { address, namespace } = target;
  const { examineTemporal } = await import('../../temporal/examine.ts');
  const seen = await examineTemporal(
    target,
    known.then((database) => database?.delivering),
  );
  const message = `Temporal ${seen.version} at ${address}, namespace "${namespace}"`;
  return [
    { check: 'temporal', state: 'ok', message, next: null },
    ...judgeAll(temporalChecks, { ...seen, address, namespace }),
  ];
}

async function askTransport(
  config: Config,
  name: string,
  transport: Transport,
  known: Known,
): Promise<readonly DoctorFinding[]> {
  const topics = config.topics.filter((topic) => transportOf(config, topic).transport === transport);
  if (transport.examine !== undefined)
    return await transport.examine(examined(name, topics, (await known)?.pinned));
  const addresses = [...new Set(topics.map(({ rules }) => rules.address))];
  const found = await Promise.all(
    addresses.map((address) =>
      asFindings(`${name} ${address}`, () => askTwice(() => probed(name, transport, address))),
    ),
  );
  const away = found.flat();
  if (away.length > 0) return away;
  const at = transport.endpoint === undefined ? '' : ` at ${transport.endpoint}`;
  // This client may not be allowed to ask for the version, which does not affect messages.
  const server = (await transport.server?.().catch(() => undefined)) ?? transport.name;
  return [
    {
      check: name,
      state: 'ok',
      message: `${server}${at} answers for ${counted(addresses.length, 'address', 'addresses')}.`,
      next: null,
    },
    ...((await transport.durability?.()) ?? []),
  ];
}

async function probed(
  name: string,
  transport: Transport,
  address: string,
): Promise<readonly DoctorFinding[]> {
  try {
    await transport.probe(address);
    return [];
  } catch (error) {
    const creatable = transport.topics !== undefined;
    if (!(creatable && error instanceof OutboxError && error.code === 'OUTBOX_ADDRESS_MISSING')) throw error;
    const next = 'temporal-outbox migrate --create';
    return [{ check: `${name} ${address}`, state: 'problem', message: error.message, next }];
  }
}

/** What a broker is examined for. */
function examined(
  name: string,
  topics: readonly Topic[],
  pinned: DatabaseExamination['pinned'] | undefined,
): Examined {
  const addresses = [...largestByAddress(topics)].map(([address, { name: topic, rules }]) => ({
    address,
    topic,
    payloadBytes: rules.payloadLimitBytes,
    pinned: pinned?.get(address) ?? null,
  }));
  const confirmed = topics.some(({ rules }) => rules.confirm !== undefined);
  return { name, addresses, receipts: confirmed ? receiptsAddress : undefined };
}

/** Of several topics at one address, that with the largest payloads. */
function largestByAddress(topics: readonly Topic[]): ReadonlyMap<string, Topic> {
  const largest = new Map<string, Topic>();
  for (const topic of topics) {
    const { address, payloadLimitBytes } = topic.rules;
    if ((largest.get(address)?.rules.payloadLimitBytes ?? -1) < payloadLimitBytes)
      largest.set(address, topic);
  }
  return largest;
}

/** Rejects if the work takes longer than this; until `before` has settled, no time runs. */
async function inTime<Answer>(
  server: string,
  withinMs: number,
  work: () => Promise<Answer>,
  before: Promise<unknown> = Promise.resolve(),
): Promise<Answer> {
  const working = work();
  // The clock starts when `before` is over.
  await Promise.race([before, working]);
  const answer = await orLate(working, withinMs);
  if (answer !== late) return answer;
  throw new OutboxError(
    'OUTBOX_SERVER_UNAVAILABLE',
    `${server} has not answered within ${withinMs / 1_000} s.`,
    { details: { server } },
  );
}
