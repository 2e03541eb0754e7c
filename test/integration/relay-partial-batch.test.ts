import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LaneBench, laneBench } from '../support/fixtures/lane-bench.ts';
import { labelOf } from '../support/kafka/scripted-broker.ts';

let bench: LaneBench;
beforeEach(async () => {
  bench = await laneBench();
});
afterEach(() => bench.drop());

test('when part of a batch cannot be sent, it goes with the next and the rest is not repeated', async () => {
  let failing = true;
  bench.broker.judge = (message) => (failing && message.key === 'unreachable' ? 'hold' : 'store');
  bench.broker.after = () => void (failing = false);
  await bench.send('A1', { key: 'a' });
  await bench.send('U1', { key: 'unreachable' });
  await bench.send('A2', { key: 'a' });
  await bench.send('U2', { key: 'unreachable' });

  await bench.drain();
  await bench.drain();

  expect(bench.broker.labels).toEqual(['A1', 'A2', 'U1', 'U2']);
  expect(await bench.states('A1', 'A2', 'U1', 'U2')).toEqual(Array(4).fill('published'));
  expect(await bench.row('U1')).toMatchObject({ attempts: 0, maybePublished: false });
});

test('what was on the wire when a hold began can no longer be canceled, and is sent again', async () => {
  bench.broker.judge = (message) => (labelOf(message) === 'A' ? 'hold-on-wire' : 'hold');
  bench.broker.after = () => {
    bench.broker.judge = () => 'store';
  };
  await bench.send('A');
  await bench.send('B');

  await bench.drain();

  expect(bench.broker.labels).toEqual(['A', 'A', 'B']);
  expect(await bench.row('A')).toMatchObject({ attempts: 0, maybePublished: true });
  expect(await bench.row('B')).toMatchObject({ attempts: 0, maybePublished: false });
});

test('a hold spends no attempt, shows its reason on the lane, and ends when the address answers', async () => {
  bench.broker.judge = () => 'hold';
  bench.broker.reachable = false;
  await bench.send('A');
  let shown: unknown;
  bench.broker.probe = async () => {
    shown = (await bench.laneRow()).hold;
    bench.broker.judge = () => 'store';
  };

  await bench.drain();

  expect(shown).toMatchObject({ scope: 'topic', reason: 'held by the script' });
  expect((await bench.laneRow()).hold).toBeNull();
  expect(bench.broker.labels).toEqual(['A']);
  expect((await bench.row('A')).attempts).toBe(0);
});

test('a hold that outlasts the run hands the lane back with its messages as they were', async () => {
  bench.broker.judge = () => 'hold';
  bench.broker.probe = () => Promise.reject(new Error('still down'));
  await bench.send('A');

  const answer = await bench.drain({
    timings: { runMs: 150, lingerMs: 0, hotLookMs: 1, idleLookMs: 1, checkMs: 50, probeMs: 10 },
  });

  expect(answer).toBe('more');
  expect(await bench.row('A')).toMatchObject({ stored: 'ready', state: 'ready', attempts: 0 });
  expect(await bench.laneRow()).toMatchObject({ owner: null, hold: null, cursor: '0' });
});

test('an error text that PostgreSQL refuses does not stop the settle', async () => {
  await bench.send('A');
  bench.broker.publish = async () => ({ outcomes: [{ kind: 'rejected', error: 'nul \u0000 inside' }] });

  await bench.drain();

  expect(await bench.states('A')).toEqual(['retrying']);
});
