import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import pg from 'pg';
import { once } from '../../../src/consumer.ts';
import { clientOf } from '../../../src/http.ts';
import type { OrderActivities } from './order-workflow.ts';

/** A user's worker, which may kill itself with an effect committed and nothing told. */
export interface OrderWorkerSettings {
  /** Of Temporal. */
  readonly address: string;
  /** Of the database, with a table `effect (n, consumer)`. */
  readonly url: string;
  readonly taskQueue: string;
  /** A file with the bundle of `order-workflow.ts`. */
  readonly codePath: string;
  /** Written with each of its effects. */
  readonly name: string;
  /** The commit, from 1, after which it kills itself. @defaultValue none */
  readonly dieAtCommit?: number;
}

const { address, codePath, dieAtCommit, name, taskQueue, url } = JSON.parse(
  process.argv[2] ?? '',
) as OrderWorkerSettings;

Runtime.install({
  logger: new DefaultLogger('ERROR', () => undefined),
  telemetryOptions: { logging: { filter: 'OFF' } },
  shutdownSignals: [],
});
const client = clientOf(new pg.Pool({ connectionString: url }));
let commits = 0;
const activities: OrderActivities = {
  async fulfil(messageId, n) {
    await client.$transaction((tx) =>
      once(tx, 'orders', messageId, () =>
        tx.query('insert into effect (n, consumer) values ($1, $2)', [n, name]),
      ),
    );
    commits += 1;
    if (commits === dieAtCommit) process.kill(process.pid, 'SIGKILL');
  },
};
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  namespace: 'default',
  taskQueue,
  workflowBundle: { codePath },
  activities,
  // Workflows of a worker that was killed go to the next one at once.
  maxCachedWorkflows: 0,
});
await worker.run();
