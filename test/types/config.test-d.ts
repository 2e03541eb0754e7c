import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { consumer } from '../../src/consumer.ts';
import type { TransactionClient } from '../../src/inbox/transaction-client.ts';
import { type Config, defineConfig, env, type RelayConfig, topic } from '../../src/index.ts';
import { operations } from '../../src/operations.ts';
import { startRelay } from '../../src/relay.ts';
import { kafka } from '../../src/transports.ts';
import type { ShopTransaction } from '../support/fixtures/inbox-stage.ts';

declare const client: TransactionClient<ShopTransaction>;
const topics = [topic('orders', z.unknown())];
const transports = { kafka: kafka({ servers: env('KAFKA_BROKERS') }) };
const consuming = defineConfig({ topics, transports });
const whole = defineConfig({ database: { url: env('DATABASE_URL') }, topics, transports });

test('a consumer names no database; relays and operations must', () => {
  expectTypeOf(consuming).toEqualTypeOf<Config>();
  expectTypeOf(whole).toEqualTypeOf<RelayConfig>();
  consumer(client, { config: consuming, group: 'orders' });
  startRelay(whole);
  operations(whole);
  // @ts-expect-error without a database
  startRelay(consuming);
  // @ts-expect-error without a database
  operations(consuming);
});

test('a misspelt setting does not compile, at any depth', () => {
  // @ts-expect-error no such setting
  defineConfig({ topics, transports, databse: { url: '' } });
  // @ts-expect-error no such setting
  defineConfig({ topics, transports, database: { url: '', pasword: '' } });
  // @ts-expect-error no such setting
  defineConfig({ topics, transports, temporal: { tls: { serverName: 'x' } } });
});

test('keys, passwords and certificates may be functions', () => {
  defineConfig({
    database: { url: env('DATABASE_URL'), password: async () => 'secret', tls: () => ({ ca: 'x' }) },
    temporal: {
      apiKey: env('TEMPORAL_API_KEY'),
      tls: () => ({ clientCertPair: { crt: new Uint8Array(), key: 'x' } }),
    },
    topics,
    transports,
  });
  // @ts-expect-error an address is no promise
  defineConfig({ database: { url: async () => 'postgresql://x' }, topics, transports });
});
