import { startRocketmq } from '../../../dev/servers/index.ts';
import { testAuthority } from '../../support/fixtures/certificates.ts';
import { inMemory } from '../../support/fixtures/memory-cache.ts';

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

/** A vitest `globalSetup`: one name server, and one process with proxy and broker. */
export async function setup(project: Project): Promise<() => Promise<void>> {
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
  project.provide('rocketmq', {
    endpoint: endpoints[0] ?? '',
    broker,
    names,
    ca: authority.ca,
    ...user,
    pid: node.pid,
  });
  return () => rocketmq.stop();
}
