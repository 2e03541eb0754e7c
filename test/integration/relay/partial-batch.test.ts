import { expect, test } from 'vitest';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { until } from '../../support/fixtures/until.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

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

test('an error text that PostgreSQL refuses does not stop the settle', async () => {
  await fixture.send('A');
  fixture.broker.publish = async () => ({ outcomes: [{ kind: 'rejected', error: 'nul \u0000 inside' }] });

  await fixture.drain();

  expect(await fixture.states('A')).toEqual(['retrying']);
});
