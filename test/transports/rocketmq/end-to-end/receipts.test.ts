import { inject } from 'vitest';
import { rocketmq } from '../../../../src/transports.ts';
import { receiptsContract } from '../../../support/fixtures/receipts-contract.ts';
import { admin, newTopic, options } from '../rocketmq-stage.ts';

receiptsContract('RocketMQ', {
  transport: () => rocketmq({ ...options, nameServers: inject('rocketmq').names }),
  async address(group) {
    await admin.createGroup(group, true);
    return newTopic('FIFO', 2);
  },
});
