import { setTimeout as delay } from 'node:timers/promises';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { ParkedWatcher } from '../../../src/inbox/parked/parked-watcher.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { startParkedKeys } from '../../../src/temporal/parked-key/engine.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { noBulk, noDeadTries, noStandIns } from '../fixtures/parked-stage.ts';
import type { HandlerProcessSettings } from './handler-process.ts';

// A consumer's watcher and hosted workflows, with drains that never end; `handler-process.ts` starts it.
const settings = JSON.parse(process.argv[2] ?? '') as HandlerProcessSettings;
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
