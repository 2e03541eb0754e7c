import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { connectTemporal } from '../../src/brokers/workflow/client/connection.ts';
import { quietRuntime } from '../../src/brokers/workflow/client/runtime.ts';
import type { bareWorkflow } from './bare-workflow.ts';
import type { Contender, ContenderInput } from './protocol.ts';
import { serve } from './serve.ts';

/** As a relay starts the workflows of messages. */
const concurrentStarts = 20;

/**
 * Workflows that sleep and run one activity that does nothing, by a worker with the settings of the relay's worker for messages.
 * No database and no Kafka. No settings.
 */
async function openBareWorkflows({ temporalAddress, topic }: ContenderInput): Promise<Contender> {
  quietRuntime();
  const link = await connectTemporal({ address: temporalAddress, namespace: 'default' });
  const client = new Client({ connection: link.connection });
  const worker = await Worker.create({
    connection: link.connection,
    taskQueue: topic,
    workflowsPath: join(import.meta.dirname, 'bare-workflow.js'),
    activities: { answer: (id: string) => Promise.resolve(id) },
    shutdownGraceTime: 0,
    maxConcurrentActivityTaskExecutions: 50,
    stickyQueueScheduleToStartTimeout: '1 second',
  });
  const running = worker.run();
  running.catch(() => undefined);
  return {
    async fill(count, dueAtMs = Date.now()) {
      let begun = 0;
      const starter = async (): Promise<void> => {
        while (begun < count) {
          begun += 1;
          const id = randomUUID();
          await client.workflow.start<typeof bareWorkflow>('bareWorkflow', {
            workflowId: `${topic}/${id}`,
            taskQueue: topic,
            args: [id, Math.max(1, dueAtMs - Date.now())],
          });
        }
      };
      await Promise.all(Array.from({ length: concurrentStarts }, starter));
    },
    start: () => Promise.resolve(),
    async stop() {
      worker.shutdown();
      await running;
      await link.close();
    },
  };
}

serve(openBareWorkflows);
