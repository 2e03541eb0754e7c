import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { redisStream } from '../../../../src/transports.ts';
import { receiptsContract } from '../../../support/fixtures/receipts-contract.ts';

receiptsContract('streams of Redis', {
  transport: () => redisStream({ url: inject('redisTransportUrl') }),
  address: async () => `orders-${randomUUID()}`,
});
