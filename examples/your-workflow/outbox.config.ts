import { defineConfig, env } from 'temporal-outbox';
import { workflow } from 'temporal-outbox/transports';
import { taskQueue, workflowId } from './names.ts';
import { orderPaid, orderPlaced } from './topics.ts';

const address = env('TEMPORAL_ADDRESS', 'localhost:7233');
const fulfilOrder = {
  address,
  type: 'fulfilOrder',
  taskQueue,
  id: ({ key }: { key: string | null }) => workflowId(key ?? ''),
};

export default defineConfig({
  database: { url: env('DATABASE_URL') },
  temporal: { address },
  topics: [orderPlaced, orderPaid],
  transports: {
    start: workflow(fulfilOrder),
    // Two topics have no order between them. So the signal starts the workflow, too, if it is the first to arrive.
    paid: workflow({ ...fulfilOrder, signal: 'paid' }),
  },
});
