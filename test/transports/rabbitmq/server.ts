import { stderr } from 'node:process';
import { startRabbitmq } from '../../../src/local/index.ts';
import { inMemory } from '../../support/fixtures/memory-cache.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a RabbitMQ node that all files share: each makes exchanges and queues of its own. */
    rabbitmqUrl: string;
  }
}

/** What the set-up needs of vitest's project. */
interface Project {
  provide(key: 'rabbitmqUrl', value: string): void;
}

/** A vitest `globalSetup`: one RabbitMQ node, started once per test run. */
export async function setup(project: Project): Promise<() => Promise<void>> {
  const server = await startRabbitmq({
    env: await inMemory(process.env),
    progress: (line) => void stderr.write(`${line}\n`),
  });
  project.provide('rabbitmqUrl', server.url);
  return () => server.stop();
}
