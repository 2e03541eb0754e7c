import { afterEach, beforeEach, expect, test } from 'vitest';
import { eachLane, type LaneFixture } from '../support/fixtures/lane-fixture.ts';
import { ada, auditOf, failAll, type Operator, operatorAt } from '../support/fixtures/operator.ts';
import { labelOf } from '../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
let operator: Operator;
eachLane((made) => (fixture = made));
beforeEach(async () => {
  operator = operatorAt(fixture);
});
afterEach(async () => {
  await operator.close();
});

/** One message for each operation, by the label that names it, in a state that allows it. */
async function prepareAll(): Promise<void> {
  fixture.broker.judge = (message) => (labelOf(message) === 'withdraw retrying' ? 'reject' : 'store');
  await failAll(fixture, ['retry', 'edit', 'discard']);
  await fixture.send('withdraw retrying');
  await fixture.drain();
  await fixture.send('published');
  await fixture.drain();
  for (const label of ['cancel', 'reschedule']) await fixture.send(label, { afterMs: 60_000 });
  await fixture.send('withdraw ready');
}

const operationsByName: Readonly<Record<string, (dryRun?: boolean) => Promise<unknown>>> = {
  cancel: (dryRun = false) => operator.cancel(operator.of('cancel'), { ...ada, dryRun }),
  reschedule: (dryRun = false) =>
    operator.reschedule(operator.of('reschedule'), { ...ada, dryRun, after: '2m' }),
  retry: (dryRun = false) => operator.retry(operator.of('retry'), { ...ada, dryRun }),
  edit: (dryRun = false) => operator.edit(fixture.idOf('edit'), { ...ada, dryRun, payload: 1 }),
  discard: (dryRun = false) => operator.discard(operator.of('discard'), { ...ada, dryRun }),
  'withdraw retrying': (dryRun = false) =>
    operator.withdraw(operator.of('withdraw retrying'), { ...ada, dryRun }),
  'withdraw ready': (dryRun = false) => operator.withdraw(operator.of('withdraw ready'), { ...ada, dryRun }),
  pause: (dryRun = false) => operator.pause({ topic: 'orders' }, { ...ada, dryRun }),
  resume: (dryRun = false) => operator.resume({ topic: 'orders' }, { ...ada, dryRun }),
};

/** Everything an operator can change, as text. */
async function world(): Promise<string> {
  const rows = await fixture.database.query(
    `select (select jsonb_agg(to_jsonb(m) - 'xid' order by m.id) from outbox.message m) as messages,
       (select jsonb_agg(t order by t.name) from outbox.topic t) as topics,
       (select jsonb_agg(x order by x.name) from outbox.transport x) as transports`,
  );
  return JSON.stringify(rows);
}

test('I14 every operation leaves exactly one entry per message, with actor, reason and result', {
  tags: ['actions-audited'],
}, async () => {
  await prepareAll();
  for (const [name, operate] of Object.entries(operationsByName)) {
    const before = (await auditOf(fixture)).length;
    await operate();
    const entries = (await auditOf(fixture)).slice(before);
    expect(entries, name).toHaveLength(1);
    expect(entries[0]).toMatchObject({ ...ada, topic: 'orders', action: name.split(' ')[0] });
  }
});

test('I14 refusals of single messages are recorded as well', async () => {
  await prepareAll();
  const nobody = '00000000-0000-4000-8000-000000000000';
  const target = { ids: [fixture.idOf('published'), nobody] };
  await operator.cancel(target, ada);
  await operator.reschedule(target, { ...ada, after: 0 });
  await operator.retry(target, ada);
  await operator.discard(target, ada);
  await operator.withdraw(target, ada);
  for (const id of target.ids) await operator.edit(id, { ...ada, payload: 1 }).catch(() => undefined);

  const entries = (await auditOf(fixture)).map(({ action, result }) => `${action} ${result}`);
  expect(entries.toSorted()).toEqual([
    'cancel too-late',
    'cancel unknown',
    'discard too-late',
    'discard unknown',
    'edit conflict',
    'edit unknown',
    'reschedule too-late',
    'reschedule unknown',
    'retry too-late',
    'retry unknown',
    'withdraw too-late',
    'withdraw unknown',
  ]);
});

test('I14 no operation happens that cannot be recorded in the audit', async () => {
  await prepareAll();
  const { resume, ...others } = operationsByName;
  const refusing = async (operations: Readonly<typeof operationsByName>): Promise<void> => {
    await fixture.database.query(
      `alter table outbox.audit add constraint refuse check (action is null) not valid`,
    );
    const before = await world();
    for (const [name, operate] of Object.entries(operations)) {
      await expect(operate(), name).rejects.toMatchObject({ code: '23514' });
      expect(await world(), name).toBe(before);
    }
    await fixture.database.query('alter table outbox.audit drop constraint refuse');
  };
  await refusing(others);
  await operator.pause({ topic: 'orders' }, ada);
  await refusing(resume === undefined ? {} : { resume });
});

test('a dry run of every operation changes and records nothing', async () => {
  await prepareAll();
  const before = await world();
  for (const operate of Object.values(operationsByName)) await operate(true);

  expect(await world()).toBe(before);
  expect(await auditOf(fixture)).toEqual([]);
});

test('an empty or endless actor and a reason with NUL are refused before anything is done', async () => {
  await prepareAll();
  const before = await world();
  const wrong = [{ actor: ' ' }, { actor: 'x'.repeat(201) }, { actor: 'ada', reason: 'a\u0000b' }];
  for (const ask of wrong)
    await expect(operator.retry(operator.of('retry'), ask)).rejects.toMatchObject({
      code: 'OUTBOX_OPTION_INVALID',
    });
  expect(await world()).toBe(before);
});
