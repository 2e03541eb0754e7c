import { expect, test } from 'vitest';
import { clientLibrary } from '../../../../src/brokers/rocketmq/client/client-library.ts';
import { leasedMessage } from '../../../../src/brokers/rocketmq/source/leased-message.ts';

test.each([
  ['of another sender, whose group is one of its keys', ['order-1'], 'order-1', undefined, 'order-1'],
  ['of another sender, with other keys', ['x'], 'order-1', undefined, 'order-1'],
  ['of another sender, with an id of its own', ['order-1'], 'order-1', 'event-7', 'order-1'],
  ['of an outbox, without a key', ['id-1'], 'id-1', 'id-1', null],
  ['without a group', ['x'], '', undefined, null],
])('the key of a message %s', (_whose, keys, group, id, key) => {
  const { definitions } = clientLibrary();
  const system = new definitions.SystemProperties().setKeysList(keys).setMessageGroup(group);
  const message = new definitions.Message().setSystemProperties(system).setBody(Buffer.from('{}'));
  if (id !== undefined) message.getUserPropertiesMap().set('ce_id', id);

  const { incoming } = leasedMessage(message, { address: 'orders', endpoint: 'e', partition: 0, untilMs: 0 });

  expect(incoming.key).toBe(key);
});
