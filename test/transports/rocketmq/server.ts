import { startRocketmq } from '../../../dev/servers/index.ts';
import { testAuthority } from '../../support/fixtures/certificates.ts';
import { inMemory } from '../../support/fixtures/memory-cache.ts';
import { sharedServer } from '../../support/fixtures/shared-server.ts';

/** A RocketMQ with TLS and access control besides plain connections. */
export interface ProvidedRocketmq {
  /** gRPC, with and without TLS. */
  readonly endpoint: string;
  /** The broker's own port, for {@link BrokerAdmin}. */
  readonly broker: string;
  /** The name server. */
  readonly names: string;
  readonly ca: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** The process of proxy and broker. */
  readonly pid: number;
}

declare module 'vitest' {
  interface ProvidedContext {
    rocketmq: ProvidedRocketmq;
  }
}

interface Project {
  provide(key: 'rocketmq', value: ProvidedRocketmq): void;
}

async function start(): Promise<{ readonly provided: ProvidedRocketmq; stop(): Promise<void> }> {
  const authority = testAuthority('rocketmq');
  const user = { accessKey: 'alice', secretKey: 'wonderland' };
  const rocketmq = await startRocketmq({
    env: await inMemory({ ...process.env, ROCKETMQ_ENDPOINTS: '' }),
    // Ten and twenty seconds otherwise, which tests would wait for.
    settings: {
      minInvisibleTimeMillsForRecv: 1_000,
      topicRouteServiceCacheExpiredSeconds: 2,
      topicRouteServiceCacheRefreshSeconds: 1,
    },
    secure: { ...authority.issue('127.0.0.1'), ...user },
  });
  const { broker, endpoints, names, node } = rocketmq;
  if (broker === undefined || names === undefined || node?.pid === undefined)
    throw new Error('RocketMQ was not started here.');
  const endpoint = endpoints[0] ?? '';
  const provided = { endpoint, broker, names, ca: authority.ca, ...user, pid: node.pid };
  return { provided, stop: () => rocketmq.stop() };
}

/** A vitest `globalSetup`: one name server, and one process with proxy and broker, for all projects of a run. */
export async function setup(project: Project): Promise<() => Promise<void>> {
  const { release, server } = await sharedServer('rocketmq', start, (one) => one.stop());
  project.provide('rocketmq', server.provided);
  return release;
}
