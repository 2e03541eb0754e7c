import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { until } from '../../support/fixtures/until.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
beforeEach(async () => {
  fixture = await laneFixture();
});
afterEach(() => fixture.drop());

test('when part of a batch cannot be sent, it is sent with the next one and the rest is not repeated', async () => {
  let failing = true;
  fixture.broker.judge = (message) => (failing && message.key === 'unreachable' ? 'hold' : 'store');
  fixture.broker.after = () => void (failing = false);
  await fixture.send('A1', { key: 'a' });
  await fixture.send('U1', { key: 'unreachable' });
  await fixture.send('A2', { key: 'a' });
  await fixture.send('U2', { key: 'unreachable' });

  await fixture.drain();
  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['A1', 'A2', 'U1', 'U2']);
  expect(await fixture.states('A1', 'A2', 'U1', 'U2')).toEqual(Array(4).fill('published'));
  expect(await fixture.row('U1')).toMatchObject({ attempts: 0, maybePublished: false });
});

test('messages on the wire when a hold began can no longer be canceled and are sent again', async () => {
  fixture.broker.judge = (message) => (labelOf(message) === 'A' ? 'hold-on-wire' : 'hold');
  fixture.broker.after = () => {
    fixture.broker.judge = () => 'store';
  };
  await fixture.send('A');
  await fixture.send('B');

  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['A', 'A', 'B']);
  expect(await fixture.row('A')).toMatchObject({ attempts: 0, maybePublished: true });
  expect(await fixture.row('B')).toMatchObject({ attempts: 0, maybePublished: false });
});

test('giving up a lane on hold reports the end of the hold, and the next owner reports its own', {
  tags: ['hold-end-reported'],
}, async () => {
  fixture.broker.judge = () => 'hold';
  fixture.broker.probe = () => Promise.reject(new Error('away'));
  await fixture.send('A');
  const holds = (): readonly string[] =>
    fixture.events.flatMap(({ type }) => (type.startsWith('hold-') ? [type] : []));
  for (const told of [
    ['hold-began', 'hold-ended'],
    ['hold-began', 'hold-ended', 'hold-began', 'hold-ended'],
  ]) {
    const stop = new AbortController();
    const drained = fixture.drain({ signal: stop.signal });
    await until(() => holds().length === told.length - 1);
    stop.abort();
    await drained;
    expect(holds()).toEqual(told);
  }
});

test('a hold uses up no attempt, shows its reason on the lane, and ends when the address answers', async () => {
  fixture.broker.judge = () => 'hold';
  fixture.broker.reachable = false;
  await fixture.send('A');
  let shown: unknown;
  fixture.broker.probe = async () => {
    shown = (await fixture.laneRow()).hold;
    fixture.broker.judge = () => 'store';
  };

  await fixture.drain();

  expect(shown).toMatchObject({ scope: 'topic', reason: 'put on hold by the script' });
  expect((await fixture.laneRow()).hold).toBeNull();
  expect(fixture.broker.labels).toEqual(['A']);
  expect((await fixture.row('A')).attempts).toBe(0);
});

test('a hold that outlasts the run frees the lane with its messages unchanged, and goes on', async () => {
  fixture.broker.judge = () => 'hold';
  fixture.broker.probe = () => Promise.reject(new Error('still down'));
  await fixture.send('A');

  const answer = await fixture.drain({
    timings: {
      // Long enough for the first send on a busy machine.
      drainTimeoutMs: 3_000,
      laneIdleTimeoutMs: 0,
      lookIntervalMs: 1,
      idleLookIntervalMs: 1,
      checkIntervalMs: 50,
      probeIntervalMs: 10,
      stuckAfterMs: 60_000,
    },
  });

  expect(answer).toBe('more');
  expect(await fixture.row('A')).toMatchObject({ stored: 'ready', state: 'ready', attempts: 0 });
  expect(await fixture.laneRow()).toMatchObject({ owner: null, hold: { scope: 'topic' }, cursor: '0' });
});

test('an error text that PostgreSQL refuses does not stop the settle', async () => {
  await fixture.send('A');
  fixture.broker.publish = async () => ({ outcomes: [{ kind: 'rejected', error: 'nul \u0000 inside' }] });

  await fixture.drain();

  expect(await fixture.states('A')).toEqual(['retrying']);
});
