import { type Config, defineConfig } from '../index.ts';
import { kafka } from '../transports.ts';
import { orderEvents, orderTimeout } from './shop-topics.ts';

/** Where the servers of the demo are. */
export interface Addresses {
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly temporalNamespace: string;
  /** `host:port`, separated by commas. */
  readonly kafkaBrokers: string;
}

/** The configuration that the shop, its relay and its consumer share. */
export function shopConfig(addresses: Addresses): Config {
  return defineConfig({
    database: { url: addresses.databaseUrl },
    temporal: { address: addresses.temporalAddress, namespace: addresses.temporalNamespace },
    topics: [orderEvents, orderTimeout],
    transports: { kafka: kafka({ brokers: addresses.kafkaBrokers }) },
  });
}
