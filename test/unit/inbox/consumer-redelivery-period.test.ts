import { expect, onTestFinished, test } from 'vitest';
import { byNow, fakeTimeUntilEnd, pass, soFar } from '../../support/fixtures/fake-time.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { type ConsumerSetup, consumerBench } from './consumer-bench.ts';

test('the window of ids is checked with the broker before joining the group, and kept from then on', async () => {
  const { consumer, database, sources } = await consumerBench({ settings: { window: '1h' } });
  sources[0].periodMs = async () => 3_600_001;
  await expect(consumer.start()).rejects.toMatchObject({ code: 'OUTBOX_WINDOW_TOO_SHORT' });
  expect(sources[0].subscriptions).toEqual([]);

  sources[0].periodMs = async () => 3_600_000;
  const running = await consumer.start();
  expect(database.said('insert into outbox.consumer_group')).toEqual([['shop', '3600000']]);
  await running.stop();
});

/** A consumer whose broker is away when it is asked how long it may deliver again. */
async function away(settings: ConsumerSetup['settings'] = {}) {
  const bench = await consumerBench({ settings });
  fakeTimeUntilEnd();
  const broker = { away: true, asked: 0 };
  const first = gate();
  bench.sources[0].periodMs = async () => {
    broker.asked += 1;
    first.open();
    if (broker.away) throw new Error(`away ${broker.asked}`);
    return 0;
  };
  const starting = soFar(bench.consumer.start());
  await first.opened;
  await pass(0);
  return { ...bench, broker, starting };
}

test('a broker that is unreachable at the start is shown in the health until it answers', async () => {
  const { broker, consumer, starting } = await away({ startTimeout: '2s' });
  const error = new Error('away 1');
  expect(consumer.health()).toMatchObject({
    state: 'starting',
    failing: [{ what: 'memory', error: error.message }],
  });
  await pass(499);
  expect(broker.asked).toBe(1);
  broker.away = false;
  await pass(1);
  expect([broker.asked, starting.state]).toEqual([2, 'resolved']);
  expect(consumer.health().failing).toEqual([]);
  await byNow(consumer.stop());
});

test('a broker that does not answer within the time of the start fails it', async () => {
  const { starting } = await away({ startTimeout: '2s' });
  await pass(1_499);
  expect(starting.state).toBe('open');
  await pass(501);

  expect(starting).toMatchObject({ state: 'rejected', error: new Error('away 4') });
});

test('an unreachable broker is no longer asked after a stop', async () => {
  const { broker, consumer, starting } = await away();
  await pass(100);
  await byNow(consumer.stop());
  expect(starting).toMatchObject({ state: 'rejected', error: { code: 'OUTBOX_STOPPED' } });
  await pass(5_000);
  expect(broker.asked).toBe(1);
});

test('a failed round of the window is reported and does not fail the start', async () => {
  const { consumer, database, told } = await consumerBench();
  const error = new Error('no');
  database.on('as "windowMs"', () => {
    throw error;
  });
  const running = await consumer.start();
  onTestFinished(() => running.stop());

  expect(told('window-failing')).toEqual([{ type: 'window-failing', error, retryInMs: 60_000 }]);
  expect(running.health().failing).toMatchObject([{ what: 'window', error: error.message }]);
});
