import { defineConfig, type Lazy, type RelayConfig } from '../../src/index.ts';
import { kafka } from '../../src/transports.ts';
import { orderEvents, orderTimeout } from './shop-topics.ts';

/** Where the servers of the demo are. */
export interface Addresses<Text = string> {
  readonly databaseUrl: Text;
  readonly temporalAddress: Text;
  readonly temporalNamespace: Text;
  /** `host:port`, separated by commas. */
  readonly kafkaBrokers: Text;
}

/** The configuration that the shop, its relay and its consumer share. */
export function shopConfig(addresses: Addresses<Lazy<string>>): RelayConfig {
  return defineConfig({
    database: { url: addresses.databaseUrl },
    temporal: { address: addresses.temporalAddress, namespace: addresses.temporalNamespace },
    topics: [orderEvents, orderTimeout],
    transports: { kafka: kafka({ servers: addresses.kafkaBrokers }) },
  });
}
