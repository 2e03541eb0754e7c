import { judgeAll } from '../../../core/diagnosis.ts';
import type { Capabilities } from '../../capabilities.ts';
import type { Transport } from '../../transport.ts';
import { durabilityOf } from '../client/durability.ts';
import { RedisLink, redisUnavailable } from '../client/redis-link.ts';
import { serverOf } from '../client/server-version.ts';
import { type Probe, probeAddress } from './probe.ts';
import { type ChunkSender, publishChunks } from './publish-chunks.ts';
import { redisChecks } from './redis-checks.ts';
import type { RedisSettings } from './redis-options.ts';

/** What differs between the Redis transports. */
export interface PublisherParts {
  readonly name: string;
  /** Whether the server keeps messages that nobody reads at the moment. */
  readonly keeps: boolean;
  readonly sender: ChunkSender;
  readonly probeOf: (address: string) => Probe;
  /** What the server can do besides, over the connection of the transport. */
  readonly capabilities?: (link: RedisLink) => Capabilities;
}

/** A transport with one connection: opened at the first batch, kept open, and replaced after a hold. */
export function redisPublisher(
  { server, requestTimeoutMs }: RedisSettings,
  { capabilities, keeps, name, sender, probeOf }: PublisherParts,
): Transport & { readonly endpoint: string } {
  const link = new RedisLink(server, requestTimeoutMs);
  return {
    name,
    get endpoint() {
      return server.endpoint;
    },
    publish: (batch) => publishChunks(link, sender, batch),
    async probe(address) {
      try {
        await link.ask((client) => probeAddress(client, address, probeOf(address)));
      } catch (cause) {
        link.renew();
        throw redisUnavailable(server, cause);
      }
    },
    tls: () => server.target.tls,
    server: () => link.ask(serverOf),
    ...capabilities?.(link),
    ...(keeps && {
      durability: async () => {
        const facts = { endpoint: server.endpoint, ...(await link.ask(durabilityOf)) };
        return judgeAll(redisChecks, facts);
      },
    }),
    async close() {
      link.close();
    },
  };
}
