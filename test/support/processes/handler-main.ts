import { setTimeout as delay } from 'node:timers/promises';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { ParkedWatcher } from '../../../src/inbox/parked/parked-watcher.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { startParkedKeys } from '../../../src/temporal/parked-key/engine.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { noBulk, noDeadTries, noStandIns } from '../fixtures/parked-stage.ts';
import type { Crash } from './program.ts';

/** Hosts the workflows of parked keys, with drains that never end; tells each that it begins. */
export interface HandlerSettings {
  readonly url: string;
  readonly temporalAddress: string;
  readonly installation: string;
  readonly group: string;
  readonly crash?: Crash;
}

const settings = JSON.parse(process.argv[2] ?? '') as HandlerSettings;
const { crash, group, installation, temporalAddress, url } = settings;

Runtime.install({
  logger: new DefaultLogger('ERROR', () => undefined),
  telemetryOptions: { logging: { filter: 'OFF' } },
  shutdownSignals: [],
});
const database = openDatabase({ url });
if (crash !== undefined) crashAt(crash.point, { pass: crash.pass });
const { workflows, bulks } = startParkedKeys({
  temporal: { address: temporalAddress, namespace: 'default' },
  installation,
  group,
  drains: {
    async drain(_keyId, _signal, progress) {
      process.stdout.write('draining\n');
      for (;;) {
        progress();
        await delay(100);
      }
    },
  },
  bulk: noBulk,
  visible: () => true,
  concurrency: 10,
  failed: () => undefined,
});
new ParkedWatcher({
  group,
  withSql: (work) => work(database),
  endDeadTries: async () => noDeadTries,
  workflows,
  bulks,
  standIns: noStandIns,
  away: () => false,
  answered: () => undefined,
  failed: () => undefined,
}).start();
