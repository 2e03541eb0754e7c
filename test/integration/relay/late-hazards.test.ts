import { afterEach, expect, test } from 'vitest';
import { adopt } from '../../../src/operations/adopt.ts';
import { beginChange } from '../../../src/store/lane/lanes-change.ts';
import { replaceMessages } from '../../../src/store/lane/lanes-replace.ts';
import { endLanesChange, switchLanes } from '../../../src/store/lane/lanes-switch.ts';
import { clearLeaf } from '../../../src/store/retention/leaf.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import type { OpenTransaction } from '../../support/fixtures/open-transaction.ts';
import { ada, operatorAt } from '../../support/fixtures/operator.ts';

let fixture: LaneFixture;
afterEach(() => fixture.drop());

const batch = { messages: 20 };
const each = 200;

/** Two transactions whose positions take turns, each with keys of its own; the first is committed and sent to a third. */
async function amidTheFirst(): Promise<OpenTransaction> {
  fixture = await laneFixture();
  const [first, second] = [await fixture.begin(), await fixture.begin()];
  for (let n = 0; n < each; n += 1) {
    await fixture.send(`a/${n % 3}/${n}`, { key: `a${n % 3}` }, first);
    await fixture.send(`b/${n % 3}/${n}`, { key: `b${n % 3}` }, second);
  }
  await fixture.send('early');
  await fixture.drain();
  await first.commit();
  await sendUpTo(1 + each / 3);
  return second;
}

async function sendUpTo(count: number): Promise<void> {
  const stop = new AbortController();
  fixture.broker.after = () => {
    if (fixture.broker.log.length >= count) stop.abort();
  };
  await fixture.drain({ batch, signal: stop.signal });
  fixture.broker.after = () => undefined;
  const [lane] = await fixture.database.query<{ late: boolean }>(
    'select late_cursor is not null as late from outbox.lane where n = 0',
  );
  expect(lane?.late).toBe(true);
}

/** Drains every lane, and expects each message once, those of a key in their order, but for what is named. */
async function expectTheRest(...without: readonly string[]): Promise<void> {
  const lanes = await fixture.database.query<{ n: number }>('select n from outbox.lane order by n');
  for (const { n } of lanes) await fixture.drain({ batch, lane: { topic: 'orders', lane: n } });
  const sent = fixture.broker.labels;
  const labels = ['a', 'b'].flatMap((of) => Array.from({ length: each }, (_, n) => `${of}/${n % 3}/${n}`));
  expect(sent.toSorted()).toEqual(
    ['early', ...labels.filter((label) => !without.includes(label))].toSorted(),
  );
  for (const key of ['a/0', 'a/1', 'a/2', 'b/0', 'b/1', 'b/2']) {
    const numbers = sent.filter((label) => label.startsWith(key)).map((label) => Number(label.split('/')[2]));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  }
  expect(
    await fixture.database.query(
      `select id from outbox.message_all where state not in ('published', 'canceled')`,
    ),
  ).toEqual([]);
}

test('a second large late transaction, committed amid the first one and partly below its late cursor, loses, doubles and reorders nothing', async () => {
  const second = await amidTheFirst();
  await second.commit();
  await sendUpTo(1 + each / 2);
  await expectTheRest();
});

test('a leaf that is cleared amid a late transaction leaves published what is sent, and the rest to be sent', async () => {
  const second = await amidTheFirst();
  await second.commit();
  await clearLeaf(fixture.database, '1', { signal: new AbortController().signal, progress: () => undefined });
  await expectTheRest();
});

test('amid a late transaction what is sent is too late to withdraw, and what is not is withdrawn', async () => {
  const second = await amidTheFirst();
  await second.commit();
  const [sent, unsent] = [fixture.broker.labels.at(-1) ?? '', `a/${(each - 1) % 3}/${each - 1}`];
  const operator = operatorAt(fixture);
  const results = await operator.withdraw(operator.of(sent, unsent), ada);
  await operator.close();
  expect(results.map(({ result }) => result)).toEqual(['too-late', 'canceled']);
  await expectTheRest(unsent);
});

test('an adoption amid a late transaction settles what is sent, and the lane sends the rest', async () => {
  const second = await amidTheFirst();
  await second.commit();
  const settled = fixture.broker.log.length;
  await fixture.database.query(`update outbox.installation set system_identifier = '1'`);
  expect(await adopt(fixture.database, { actor: 'test' })).toMatchObject({
    settled,
    ready: 2 * each + 1 - settled,
  });
  await expectTheRest();
});

test('a change of lanes amid a late transaction moves what is not sent, and nothing else', async () => {
  const second = await amidTheFirst();
  await second.commit();
  const by = { actor: 'test' };
  const change = await beginChange(fixture.database, { topic: 'orders', kind: 'lanes', wanted: 8 }, by);
  await switchLanes(fixture.database, change, by);
  await replaceMessages(fixture.database, change);
  await endLanesChange(fixture.database, change, by);
  await expectTheRest();
});
