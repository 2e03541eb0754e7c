import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stderr } from 'node:process';
import { startRabbitmq } from '../../../dev/servers/index.ts';
import { freePort } from '../../../dev/servers/process/free-port.ts';
import { testAuthority } from '../../support/fixtures/certificates.ts';
import { inMemory } from '../../support/fixtures/memory-cache.ts';
import { sharedServer } from '../../support/fixtures/shared-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a RabbitMQ node that all files share: each makes exchanges and queues of its own. */
    rabbitmqUrl: string;
    /** Its port for TLS: the URL, and the certificate of the authority, as PEM text. */
    rabbitmqSecure: SecurePort;
  }
}

interface SecurePort {
  readonly url: string;
  readonly ca: string;
}

/** What the set-up needs of vitest's project. */
interface Project {
  provide(key: 'rabbitmqUrl', value: string): void;
  provide(key: 'rabbitmqSecure', value: SecurePort): void;
}

async function start(): Promise<{
  readonly url: string;
  readonly secure: SecurePort;
  stop(): Promise<void>;
}> {
  const folder = await mkdtemp(join(tmpdir(), 'outbox-rabbitmq-'));
  const authority = testAuthority('rabbitmq');
  const { cert, key } = authority.issue('127.0.0.1');
  const port = await freePort();
  const settings = [`listeners.ssl.1 = 127.0.0.1:${port}`];
  const files = Object.entries({ cacertfile: authority.ca, certfile: cert, keyfile: key });
  for (const [name, text] of files) {
    await writeFile(join(folder, name), text);
    settings.push(`ssl_options.${name} = ${join(folder, name)}`);
  }
  // A node that is given has neither this port nor this authority.
  const { RABBITMQ_URL: _given, ...env } = process.env;
  const server = await startRabbitmq({
    env: await inMemory(env),
    progress: (line) => void stderr.write(`${line}\n`),
    settings,
  });
  return {
    url: server.url,
    secure: { url: `amqps://guest:guest@127.0.0.1:${port}`, ca: authority.ca },
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** A vitest `globalSetup`: one RabbitMQ node for all projects of a run. */
export async function setup(project: Project): Promise<() => Promise<void>> {
  const { release, server } = await sharedServer('rabbitmq', start, (one) => one.stop());
  project.provide('rabbitmqUrl', server.url);
  project.provide('rabbitmqSecure', server.secure);
  return release;
}
