import { expect, test } from 'vitest';
import { consumerBench, numbered, numbers } from './consumer-bench.ts';

const handler = async (): Promise<void> => undefined;
const refused = (option: string, text: string): unknown =>
  expect.objectContaining({
    code: 'OUTBOX_OPTION_INVALID',
    details: { option },
    message: expect.stringContaining(text),
  });

test('a topic has one handler, whichever kind it is', async () => {
  const { consumer } = await consumerBench();
  const again = refused('on', 'The topic "orders" already has a handler.');
  expect(() => consumer.on(numbers('orders'), handler)).toThrow(again);
  expect(() => consumer.onBatch(numbers('orders'), handler)).toThrow(again);
});

test('handlers and middlewares are refused once the consumer has started, and so is a second start', async () => {
  const { consumer } = await consumerBench();
  const running = await consumer.start();
  const late = (option: string) => refused(option, 'The consumer has already been started');
  expect(() => consumer.on(numbers('orders'), handler)).toThrow(late('on'));
  expect(() => consumer.use(async (_message, next) => next())).toThrow(late('use'));
  await expect(consumer.start()).rejects.toEqual(late('start'));
  await running.stop();
});

test('a consumer without a handler is refused before it asks anybody', async () => {
  const { consumer, database } = await consumerBench({ topics: [] });
  await expect(consumer.start()).rejects.toEqual(refused('on', 'The consumer has no handler'));
  expect(database.transactions).toEqual([]);
});

test('a stop with no time or too long a time is refused before anything is stopped', async () => {
  const { consumer, sources } = await consumerBench();
  const running = await consumer.start();
  for (const timeout of [0, -1, '2 days', Number.NaN] as const)
    await expect(running.stop({ timeout })).rejects.toMatchObject({
      code: 'OUTBOX_OPTION_INVALID',
      details: { option: 'timeout' },
    });
  expect(await sources[0].deliver(numbered(1))).toEqual([['acknowledged', '1']]);
  await running.stop();
});
