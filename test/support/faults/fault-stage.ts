import { inject } from 'vitest';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import type { Transport } from '../../../src/brokers/transport.ts';
import type { Topic } from '../../../src/core/topic.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase, type StatementLimits } from '../../../src/store/database/pool.ts';
import { fromQuery } from '../../../src/store/database/transaction.ts';
import type { Committer } from '../fixtures/ledger-load.ts';
import { quietTemporal, type StageRelay } from '../fixtures/stage.ts';
import { untilDone } from '../fixtures/until-done.ts';

export interface FaultStageOptions {
  /** A migrated database, which its creator drops. */
  readonly url: string;
  readonly topics: readonly Topic[];
  /** Creates the transport of each relay. */
  readonly transport: () => Transport;
  /** Where relays connect instead of the database itself: a proxy, for example. */
  readonly relayUrl?: string;
  /** @defaultValue the server of the test run */
  readonly temporalAddress?: string;
  /** Limits of the stage's own pool, which hangs on connections that die silently. @defaultValue none */
  readonly limits?: StatementLimits;
}

/** An installation whose servers a test breaks: any database, any transport, relays in this process. */
export interface FaultStage extends Committer {
  readonly database: Database;
  /** Starts a relay and waits until it delivers. */
  relay(): Promise<StageRelay>;
  /** Waits until every message has reached a final state. */
  untilDone(withinMs?: number): Promise<void>;
  /** Total attempts counted for messages. */
  attempts(): Promise<number>;
}

/** The part of the test context that it needs. */
interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

/** Opens a stage; everything on it ends with the test. */
export function openFaultStage({ onTestFinished }: TestEnd, options: FaultStageOptions): FaultStage {
  quietTemporal();
  const {
    url,
    topics,
    transport,
    relayUrl = url,
    temporalAddress = inject('temporalAddress'),
    limits,
  } = options;
  const database = openDatabase({ url, ...(limits !== undefined && { limits }) });
  onTestFinished(() => database.close());
  return {
    database,
    commit: (work) =>
      database.transaction((sql) => work(fromQuery((text, values) => sql.query(text, values)))),
    async relay() {
      const events: RelayEvent[] = [];
      const running = startRelay(
        {
          database: { url: relayUrl },
          temporal: { address: temporalAddress },
          topics,
          transports: { only: transport() },
        },
        { logger: false, report: (event) => events.push(event) },
      );
      onTestFinished(() => running.stop());
      await running.ready;
      return { ...running, events };
    },
    untilDone: (withinMs) => untilDone(database, withinMs),
    async attempts() {
      const [row] = await database.query<{ sum: number }>(
        'select coalesce(sum(attempts), 0)::integer as sum from outbox.message',
      );
      return row?.sum ?? Number.NaN;
    },
  };
}
