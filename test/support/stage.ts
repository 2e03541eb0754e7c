import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { inject } from 'vitest';
import { z } from 'zod';
import type { Config } from '../../src/config/config.ts';
import type { RelaySettings } from '../../src/config/relay-settings.ts';
import { type RelayOptions, type RunningRelay, startRelay } from '../../src/config/start-relay.ts';
import { type Topic, topic, type TopicOptions } from '../../src/core/topic.ts';
import { fromQuery, type Transaction } from '../../src/store/transaction.ts';
import type { RelayEvent } from '../../src/relay/report.ts';
import type { Database } from '../../src/store/database.ts';
import { readInstallation } from '../../src/store/installation.ts';
import { scheduleIds } from '../../src/temporal/schedules.ts';
import { createTestDatabase } from './database.ts';
import {
  createJournal,
  type JournalEntry,
  type JournalOptions,
  journalTransport,
  readJournal,
} from './journal.ts';
import type { Committed } from './journal-check.ts';
import { type RelayProcess, type RelayProcessOptions, startRelayProcess } from './relay-process.ts';
import { until } from './until.ts';

/** The payload of every message of a stage. */
export interface Numbered {
  readonly n: number;
}

/** A topic of numbered messages; few and short retries unless the test says otherwise. */
export function numbered(name: string, options: TopicOptions = {}): Topic<Numbered> {
  return topic(name, z.object({ n: z.number() }), { retry: ['1s', '1s'], ...options });
}

export interface StageOptions {
  readonly topics: readonly Topic<Numbered>[];
  /** @defaultValue the server of the test run */
  readonly temporalAddress?: string;
  /** @defaultValue `default` */
  readonly namespace?: string;
}

export interface StageRelayOptions extends RelayOptions {
  readonly settings?: RelaySettings;
  /** @defaultValue that of the stage */
  readonly database?: Partial<Config['database']>;
}

/** A relay inside the process of the test. */
export interface StageRelay extends RunningRelay {
  readonly events: readonly RelayEvent[];
}

/** One installation: a database, its journal in place of a broker, and any number of relays. */
export interface Stage {
  readonly url: string;
  readonly database: Database;
  readonly installation: string;
  readonly temporal: Client;
  /** Runs `work` in one transaction. */
  commit<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  /** Starts a relay in this process and waits until it delivers. */
  relay(options?: StageRelayOptions, journal?: JournalOptions): Promise<StageRelay>;
  /** Starts a relay as a process of its own and waits until it delivers. */
  relayProcess(
    options?: Omit<RelayProcessOptions, 'url' | 'temporalAddress' | 'topics'>,
  ): Promise<RelayProcess>;
  journal(): Promise<readonly JournalEntry[]>;
  /** How many messages the journal has, repeats included. */
  arrived(): Promise<number>;
  /** Who published last. */
  lastPublisher(): Promise<string | undefined>;
  /** Waits until so many more messages have arrived. */
  untilArrived(more: number): Promise<void>;
  /** Waits until as many different messages have arrived at the address as were committed. */
  untilDelivered(committed: Committed, address: string): Promise<void>;
  /** The state of a message, as people see it. */
  stateOf(id: string): Promise<string | undefined>;
}

/** What a stage needs of the context of its test. */
interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

/** For deliveries under load, also on a machine that does much else. */
const patientMs = 120_000;

let quiet = false;

/** Sets a stage; everything on it ends with the test. */
export async function openStage({ onTestFinished }: TestEnd, options: StageOptions): Promise<Stage> {
  quietTemporal();
  const { temporalAddress = inject('temporalAddress'), namespace = 'default' } = options;
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const { url, database } = made;
  await createJournal(database);
  const connection = await Connection.connect({ address: temporalAddress });
  onTestFinished(() => connection.close());
  const temporal = new Client({ connection, namespace });
  const installation = await readInstallation(database);
  // A server of all tests would go on starting workflows for nobody.
  onTestFinished(async () => {
    const ids = Object.values(scheduleIds(installation));
    await Promise.allSettled(ids.map((id) => temporal.schedule.getHandle(id).delete()));
  });
  const arrived = async (): Promise<number> => {
    const [row] = await database.query<{ count: number }>('select count(*)::integer as count from published');
    return row?.count ?? 0;
  };
  return {
    url,
    database,
    installation,
    temporal,
    commit: (work) =>
      database.transaction((sql) => work(fromQuery((text, values) => sql.query(text, values)))),
    async relay({ settings = {}, database: given, ...relayOptions } = {}, journal = {}) {
      const events: RelayEvent[] = [];
      const running = startRelay(
        {
          database: { url, ...given },
          temporal: { address: temporalAddress, namespace },
          topics: options.topics,
          transports: { journal: journalTransport(url, journal) },
          relay: settings,
        },
        { report: (event) => events.push(event), ...relayOptions },
      );
      onTestFinished(() => running.stop());
      await running.ready;
      return { ...running, events };
    },
    async relayProcess(settings = {}) {
      const child = await startRelayProcess({ ...settings, url, temporalAddress, topics: options.topics });
      onTestFinished(() => child.end());
      return child;
    },
    journal: () => readJournal(database),
    arrived,
    async lastPublisher() {
      const [row] = await database.query<{ publisher: string }>(
        'select publisher from published order by arrival desc limit 1',
      );
      return row?.publisher;
    },
    async untilArrived(more) {
      const before = await arrived();
      await until(async () => (await arrived()) >= before + more, patientMs);
    },
    async untilDelivered(committed, address) {
      const total = [...committed.values()].reduce((sum, numbers) => sum + numbers.length, 0);
      await until(async () => {
        const [row] = await database.query<{ count: number }>(
          'select count(distinct id)::integer as count from published where address = $1',
          [address],
        );
        return (row?.count ?? 0) >= total;
      }, patientMs);
    },
    async stateOf(id) {
      const [row] = await database.query<{ state: string }>(
        'select state::text as state from outbox.message_view where id = $1',
        [id],
      );
      return row?.state;
    },
  };
}

/** Workers report every activity that fails; in these tests they are meant to. */
export function quietTemporal(): void {
  if (quiet) return;
  quiet = true;
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { filter: 'OFF' } },
  });
}
