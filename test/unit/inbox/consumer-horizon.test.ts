import { expect, onTestFinished, test } from 'vitest';
import { byNow, fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { consumerBench } from './consumer-bench.ts';

test('the window of ids is judged by the broker before the group is joined, and kept from then on', async () => {
  const { consumer, database, sources } = await consumerBench({ settings: { window: '1h' } });
  sources[0].horizonMs = async () => 3_600_001;
  await expect(consumer.start()).rejects.toMatchObject({ code: 'OUTBOX_WINDOW_TOO_SHORT' });
  expect(sources[0].subscriptions).toEqual([]);

  sources[0].horizonMs = async () => 3_600_000;
  const running = await consumer.start();
  expect(database.said('insert into outbox.consumer_group')).toEqual([['shop', '3600000']]);
  await running.stop();
});

test('a broker that is away at the start shows in the health until it answers', async () => {
  const { consumer, sources } = await consumerBench({ settings: { startTimeout: '2s' } });
  fakeTime();
  onTestFinished(realTime);
  const error = new Error('away');
  let away = true;
  let asked = 0;
  const first = gate();
  sources[0].horizonMs = async () => {
    asked += 1;
    first.open();
    if (away) throw error;
    return 0;
  };
  const starting = soFar(consumer.start());
  await first.opened;
  await pass(0);
  expect(consumer.health()).toMatchObject({ state: 'starting', failing: [{ what: 'memory', error }] });
  await pass(499);
  expect(asked).toBe(1);
  away = false;
  await pass(1);
  expect([asked, starting.state]).toEqual([2, 'resolved']);
  expect(consumer.health().failing).toEqual([]);
  await byNow(consumer.stop());
});

test('a broker that does not answer within the time of the start fails it', async () => {
  const { consumer, sources } = await consumerBench({ settings: { startTimeout: '2s' } });
  fakeTime();
  onTestFinished(realTime);
  let asked = 0;
  const first = gate();
  sources[0].horizonMs = async () => {
    asked += 1;
    first.open();
    throw new Error(`away ${asked}`);
  };
  const starting = soFar(consumer.start());
  await first.opened;
  await pass(0);
  await pass(1_499);
  expect(starting.state).toBe('open');
  await pass(501);

  expect(starting).toMatchObject({ state: 'rejected', error: new Error('away 4') });
});

test('a broker that is away is asked no more after a stop', async () => {
  const { consumer, sources } = await consumerBench();
  fakeTime();
  onTestFinished(realTime);
  let asked = 0;
  const first = gate();
  sources[0].horizonMs = async () => {
    asked += 1;
    first.open();
    throw new Error('away');
  };
  const starting = soFar(consumer.start());
  await first.opened;
  await pass(100);
  await byNow(consumer.stop());
  expect(starting).toMatchObject({ state: 'rejected', error: { code: 'OUTBOX_STOPPED' } });
  await pass(5_000);
  expect(asked).toBe(1);
});

test('a round of the window that fails is told, and does not fail the start', async () => {
  const { consumer, database, told } = await consumerBench();
  const error = new Error('no');
  database.on('as "windowMs"', () => {
    throw error;
  });
  const running = await consumer.start();
  onTestFinished(() => running.stop());

  expect(told('window-failing')).toEqual([{ type: 'window-failing', error, retryInMs: 60_000 }]);
  expect(running.health().failing).toMatchObject([{ what: 'window', error }]);
});
