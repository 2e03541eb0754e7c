import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { startTemporal } from '../../dev/servers/index.ts';
import { workflow } from '../../src/transports.ts';
import { inFlight, measureOneByOne } from './one-by-one.ts';
import type { TransportFigures, TransportSizes } from './transport-figures.ts';

const start = { type: 'order', taskQueue: 'nobody' } as const;

/** Measures starts of workflows on a development server; no worker runs them. */
export async function measureWorkflow(sizes: TransportSizes): Promise<readonly TransportFigures[]> {
  const temporal = await startTemporal({ env: process.env, progress: sizes.tell });
  const connection = await NativeConnection.connect({ address: temporal.address });
  const client = new Client({ connection });
  try {
    return await measureOneByOne(
      {
        name: 'workflow',
        transport: workflow({
          ...start,
          address: temporal.address,
          id: ({ id }) => id,
          concurrency: inFlight,
        }),
        address: 'orders',
        share: 0.02,
        sendBare: ({ id, key, payload, headers }) =>
          client.workflow.start(start.type, {
            taskQueue: start.taskQueue,
            workflowId: `bare-${id}`,
            workflowIdReusePolicy: 'REJECT_DUPLICATE',
            args: [id, JSON.parse(payload), { key, headers }],
          }),
      },
      sizes,
    );
  } finally {
    await connection.close();
    await temporal.stop();
  }
}
