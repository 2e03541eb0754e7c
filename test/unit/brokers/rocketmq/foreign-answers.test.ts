import { expect, onTestFinished, test } from 'vitest';
import { rocketmq } from '../../../../src/transports.ts';
import { answering, nameServerOf } from '../../../support/fixtures/answering-rocketmq.ts';

/** What other servers, and other versions, may answer. */
const foreign = [
  '',
  'CANARY',
  '{"CANARY":',
  'null',
  '[]',
  '1',
  '{}',
  '{"brokerAddrTable":null}',
  '{"brokerAddrTable":1}',
];

function transportOf(nameServer: string) {
  const transport = rocketmq({ servers: '127.0.0.1:1', nameServers: nameServer, requestTimeout: '5s' });
  onTestFinished(() => transport.close());
  return transport;
}

const unavailable = (who: string) => ({
  code: 'OUTBOX_SERVER_UNAVAILABLE',
  message: expect.stringContaining(`${who} does not answer as RocketMQ does`),
});

test.each(foreign)('a name server that answers %j is named, and its answer is not quoted', async (text) => {
  const nameServer = await answering(0, text);
  const { groups, offsets } = transportOf(nameServer);
  for (const asked of [offsets?.ends('orders'), groups?.missing('billing', ['orders'])]) {
    const error: unknown = await asked?.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject(unavailable(nameServer));
    expect(String(error)).not.toContain('CANARY');
  }
});

test.each(['', 'CANARY', '{"CANARY":', 'null', '[]', '1'])(
  'a broker that answers %j for the settings of a group is named',
  async (text) => {
    const { groups } = transportOf(await nameServerOf({ first: await answering(0, text) }));
    const error: unknown = await groups?.missing('billing', ['orders']).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject(unavailable('first'));
    expect(String(error)).not.toContain('CANARY');
  },
);

test.each(['{"minOffset":CANARY}', '{"minOffset":"CANARY"}', '{"minOffset":1,}'])(
  'a broker that tells %s of a queue is named',
  async (numbers) => {
    const table = `{"offsetTable":{{"brokerName":"first","queueId":0,"topic":"orders"}:${numbers}}}`;
    const { offsets } = transportOf(await nameServerOf({ first: await answering(0, table) }));
    const error: unknown = await offsets?.ends('orders').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject(unavailable('first'));
    expect(String(error)).not.toContain('CANARY');
  },
);
