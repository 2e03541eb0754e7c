import { fileURLToPath } from 'node:url';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { activitiesOf } from './activities.ts';
import type { PrismaClient } from './generated/client.ts';
import { taskQueue } from './names.ts';

/** Your own worker of Temporal; in your application it is a process of its own. */
export async function startWorker(prisma: PrismaClient, address: string): Promise<{ stop(): Promise<void> }> {
  Runtime.install({ logger: new DefaultLogger('WARN') });
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowsPath: fileURLToPath(new URL('workflows.ts', import.meta.url)),
    activities: activitiesOf(prisma),
  });
  const running = worker.run();
  return {
    stop: async () => {
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
}
