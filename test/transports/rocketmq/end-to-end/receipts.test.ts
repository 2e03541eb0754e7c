import { inject } from 'vitest';
import { receiptsContract } from '../../../support/fixtures/receipts-contract.ts';
import { admin, newTopic, options } from '../rocketmq-stage.ts';

receiptsContract('RocketMQ', {
  at: () => ({ rocketmq: { ...options, nameServers: inject('rocketmq').names } }),
  async address(group) {
    await admin.createGroup(group, true);
    return newTopic('FIFO', 2);
  },
});
