import { inject } from 'vitest';
import { startRelay } from '../../../src/config/start-relay.ts';
import type { Topic } from '../../../src/core/topic.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase, type StatementLimits } from '../../../src/store/database/pool.ts';
import { fromQuery } from '../../../src/store/database/transaction.ts';
import type { Transport } from '../../../src/transports/transport.ts';
import type { Committer } from '../fixtures/ledger-load.ts';
import { quietTemporal, type StageRelay } from '../fixtures/stage.ts';
import { untilDone } from '../fixtures/until-done.ts';

export interface FaultStageOptions {
  /** A migrated database. Who made it drops it. */
  readonly url: string;
  readonly topics: readonly Topic[];
  /** Made anew for each relay. */
  readonly transport: () => Transport;
  /** What relays connect to in place of the database itself: a proxy, for example. */
  readonly relayUrl?: string;
  /** @defaultValue the server of the test run */
  readonly temporalAddress?: string;
  /** Of the stage's own pool, which hangs on connections that die without a word. @defaultValue none */
  readonly limits?: StatementLimits;
}

/** An installation whose servers a test breaks: any database, any transport, relays in this process. */
export interface FaultStage extends Committer {
  readonly database: Database;
  /** Starts a relay and waits until it delivers. */
  relay(): Promise<StageRelay>;
  /** Waits until every message has come to an end. */
  untilDone(withinMs?: number): Promise<void>;
  /** Attempts that messages were charged with, all together. */
  attempts(): Promise<number>;
}

/** What it needs of the context of its test. */
interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

/** Sets a stage; everything on it ends with the test. */
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
