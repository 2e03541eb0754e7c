import { expect, onTestFinished, test } from 'vitest';
import { rocketmq } from '../../../src/transports.ts';
import { linesOf, shownLines, shownMessage } from '../../support/fixtures/wire-page.ts';
import { admin, newTopic, options } from './rocketmq-stage.ts';
import { stored } from './traffic.ts';

/** What clients of RocketMQ call these properties of the broker. */
const systemNames = { UNIQ_KEY: 'message id', KEYS: 'keys', __SHARDINGKEY: 'message group' };

test('a message is what docs/other-languages.md shows', async () => {
  const address = await newTopic('FIFO', 1);
  const transport = rocketmq(options);
  onTestFinished(() => transport.close());

  await stored(transport, address, shownMessage);

  const [raw] = await admin.read(address, 1);
  if (raw === undefined) throw new Error('It is stored.');
  const system = Object.entries(systemNames).map(([name, said]) => [said, raw.properties.get(name)] as const);
  // Names of the broker are in capitals, those of a message in lower case.
  const own = [...raw.properties]
    .filter(([name]) => /^[a-z]/.test(name))
    .map(([name, value]) => [`property ${name}`, value] as const)
    .toSorted(([a], [b]) => a.localeCompare(b));
  expect(linesOf([...system, ...own, ['body', raw.body]])).toEqual(shownLines('RocketMQ'));
});
