import { expect, test } from 'vitest';
import { adopt } from '../../../src/operations/delivery/adopt.ts';
import { beginChange } from '../../../src/store/lane/lanes-change.ts';
import { replaceMessages } from '../../../src/store/lane/lanes-replace.ts';
import { endLanesChange, switchLanes } from '../../../src/store/lane/lanes-switch.ts';
import { cancelKey } from '../../../src/store/message/write.ts';
import { clearLeaf } from '../../../src/store/retention/leaf.ts';
import { MortalDatabase, ProcessDied } from '../../support/faults/mortal-database.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import {
  amidTheFirst,
  each,
  expectLate,
  expectTheRest,
  lateBatch,
  sendUpTo,
} from '../../support/fixtures/late-stage.ts';
import { ada, operatorAt } from '../../support/fixtures/operator.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

test('a second large late transaction, committed amid the first one and partly below its late cursor, loses, doubles and reorders nothing', {
  tags: ['order-per-key'],
}, async () => {
  await (await amidTheFirst(fixture)).commit();
  await sendUpTo(fixture, 1 + each / 2);
  await expectTheRest(fixture);
});

test('a leaf that is cleared amid a late transaction leaves published what is sent, and the rest to be sent', {
  tags: ['order-per-key'],
}, async () => {
  await (await amidTheFirst(fixture)).commit();
  await clearLeaf(fixture.database, '1', { signal: new AbortController().signal, progress: () => undefined });
  await expectTheRest(fixture);
});

test('amid a late transaction what is sent is too late to withdraw, and what is not is withdrawn', {
  tags: ['cancel-holds'],
}, async () => {
  await (await amidTheFirst(fixture)).commit();
  const [sent, unsent] = [fixture.broker.labels.at(-1) ?? '', `a/${(each - 1) % 3}/${each - 1}`];
  const operator = operatorAt(fixture);
  const results = await operator.withdraw(operator.of(sent, unsent), ada);
  await operator.close();
  expect(results.map(({ result }) => result)).toEqual(['too-late', 'canceled']);
  await expectTheRest(fixture, { without: [unsent] });
});

test('an adoption amid a late transaction settles what is sent, and the lane sends the rest', {
  tags: ['duplicates-bounded'],
}, async () => {
  await (await amidTheFirst(fixture)).commit();
  const settled = fixture.broker.log.length;
  await fixture.database.query(`update outbox.installation set system_identifier = '1'`);
  expect(await adopt(fixture.database, { actor: 'test' })).toMatchObject({
    settled,
    ready: 2 * each + 1 - settled,
  });
  await expectTheRest(fixture);
});

test('a change of lanes amid a late transaction moves what is not sent, and nothing else', {
  tags: ['duplicates-bounded'],
}, async () => {
  await (await amidTheFirst(fixture)).commit();
  const by = { actor: 'test' };
  const change = await beginChange(fixture.database, { topic: 'orders', kind: 'lanes', wanted: 8 }, by);
  await switchLanes(fixture.database, change, by);
  await replaceMessages(fixture.database, change);
  await endLanesChange(fixture.database, change, by);
  await expectTheRest(fixture);
});

test('an owner that dies amid a late transaction costs its batch again, and no more', {
  tags: ['duplicates-bounded'],
}, async () => {
  await (await amidTheFirst(fixture)).commit();
  const database = new MortalDatabase(fixture.database);
  let batches = 0;
  fixture.broker.after = () => {
    batches += 1;
    if (batches === 2) database.kill();
  };
  await expect(fixture.drain({ batch: lateBatch, database })).rejects.toBeInstanceOf(ProcessDied);
  fixture.broker.after = () => undefined;
  await fixture.lapse();
  await expectLate(fixture);

  await expectTheRest(fixture, { repeats: true });

  const sent = fixture.broker.labels;
  expect(sent.length - new Set(sent).size).toBe(lateBatch.messages);
});

test('a cancel of a key amid a late transaction cancels what is behind a retry, and nothing that is or was sent', {
  tags: ['cancel-holds'],
}, async () => {
  await (await amidTheFirst(fixture)).commit();
  const sent = fixture.broker.log.length;
  fixture.broker.judge = ({ key }) => (key === 'a1' ? 'reject' : 'store');
  await sendUpTo(fixture, sent + each / 2);
  fixture.broker.judge = () => 'store';
  const behind = await fixture.database.query<{ payload: string }>(
    `select payload from outbox.message where key = 'a1' and state in ('retrying', 'blocked')`,
  );
  expect(behind.length).toBeGreaterThan(1);

  expect(await cancelKey(fixture.database, 'orders', 'a1')).toBe(behind.length);
  await expectTheRest(fixture, { without: behind.map(({ payload }) => String(JSON.parse(payload))) });
});
