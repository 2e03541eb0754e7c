import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { receiptsContract } from '../../../support/fixtures/receipts-contract.ts';

receiptsContract('streams of Redis', {
  at: () => ({ redisStream: { url: inject('redisTransportUrl') } }),
  address: async () => `orders-${randomUUID()}`,
});
