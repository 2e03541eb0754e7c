import { beforeEach, expect, test } from 'vitest';
import { verify } from '../../../src/operations/verify/verify.ts';
import { writeAudit } from '../../../src/store/audit/audit.ts';
import { verifyAudit } from '../../../src/store/verify/audit.ts';
import { type LaneFixture, ownLane } from '../../support/fixtures/lane-fixture.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { applyRoles } from '../../support/fixtures/roles.ts';

let lane: LaneFixture;
beforeEach(async () => {
  lane = await ownLane();
});

const entry = (actor: string) => ({
  actor,
  action: 'cancel',
  messageId: null,
  topic: 'orders',
  result: 'canceled',
  details: { b: 1, a: [2] },
});
const write = (actor: string) =>
  lane.database.transaction((sql) => writeAudit(sql, [entry(actor), entry(actor)]));
const found = async () =>
  (await lane.database.transaction(verifyAudit)).first.map(({ id, what }) => `${id}: ${what}`);
/** As whoever owns the tables. */
const tamper = (statement: string) => lane.database.query(statement);

test('entries are sealed in the order of their commits, and an audit that nobody has touched is whole', async () => {
  for (const actor of ['ada', 'olga', 'vera']) await write(actor);
  const elsewhere = await lane.database.transaction(async (sql) => {
    await sql.query("set local time zone 'Asia/Kolkata'");
    await sql.query("set local datestyle to 'German'");
    return verifyAudit(sql);
  });
  expect(elsewhere.first).toEqual([]);
  const report = await verify(lane.database, []);
  expect(report.invariants.find(({ invariant }) => invariant === 'I14 audit as written')).toMatchObject({
    ok: true,
    checked: 6,
  });
});

const changed = 'This entry of the audit, or its seal, was changed.';

test.each([
  {
    what: 'has another author',
    by: ["update outbox.audit set actor = 'eve' where id = 3"],
    named: `3: ${changed}`,
  },
  {
    what: 'has lost its details',
    by: ['update outbox.audit set details = null where id = 4'],
    named: `4: ${changed}`,
  },
  {
    what: 'has another time',
    by: ["update outbox.audit set at = at - interval '1 us' where id = 4"],
    named: `4: ${changed}`,
  },
  {
    what: 'is missing',
    by: ['delete from outbox.audit where id = 2'],
    named: '2: This entry of the audit was deleted.',
  },
  {
    what: 'is missing with its seal',
    by: ['delete from outbox.audit where id = 2', 'delete from outbox.audit_seal where audit_id = 2'],
    named: '3: Seals before that of this entry of the audit are missing.',
  },
  {
    what: 'comes after one that was changed and sealed again',
    by: [
      "update outbox.audit set actor = 'eve' where id = 3",
      `update outbox.audit_seal s set hash = outbox.sha256(b.hash || outbox.sealed_text(a)) from outbox.audit_seal b, outbox.audit a
       where s.audit_id = 3 and b.audit_id = 2 and a.id = 3`,
    ],
    named: `4: ${changed}`,
  },
])('the first entry that $what is named', { tags: ['actions-audited'] }, async ({ by, named }) => {
  for (const actor of ['ada', 'olga', 'vera']) await write(actor);
  for (const statement of by) await tamper(statement);
  expect((await found())[0]).toBe(named);
  expect((await verify(lane.database, [])).ok).toBe(false);
});

test('an entry that was slipped in without a seal is named', async () => {
  await write('ada');
  await tamper('alter table outbox.audit disable trigger audit_sealed');
  await write('eve');
  expect(await found()).toEqual([
    '3: This entry of the audit was written without a seal.',
    '4: This entry of the audit was written without a seal.',
  ]);
});

test('an entry that is not committed holds up nobody else', async () => {
  const slow = await openTransaction(lane.url);
  await writeAudit(slow, [entry('slow')]);
  await write('quick');
  await slow.commit();
  await Promise.all(Array.from({ length: 10 }, (_, n) => write(`at once ${n}`)));
  expect(await found()).toEqual([]);
  expect(
    await lane.database.query(
      `select a.actor, s.position::integer from outbox.audit a join outbox.audit_seal s on s.audit_id = a.id order by s.position limit 3`,
    ),
  ).toEqual([
    { actor: 'quick', position: 1 },
    { actor: 'quick', position: 2 },
    { actor: 'slow', position: 3 },
  ]);
});

test('an operator writes entries, and neither changes them nor writes seals', async () => {
  const at = await applyRoles({ url: lane.url, database: lane.database });
  const operator = await openTransaction(at.urlOf('operator'));
  await writeAudit(operator, [entry('olga')]);
  await operator.commit();
  expect(await found()).toEqual([]);
  for (const statement of [
    'update outbox.audit set actor = actor',
    'delete from outbox.audit',
    'delete from outbox.audit_seal',
    "insert into outbox.audit_seal values (9, 9, '')",
    'alter table outbox.audit disable trigger audit_sealed',
  ]) {
    const eve = await openTransaction(at.urlOf('operator'));
    await expect(eve.query(statement)).rejects.toMatchObject({ code: '42501' });
    await eve.rollback();
  }
});
