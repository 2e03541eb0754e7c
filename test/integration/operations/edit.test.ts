import { expect, test } from 'vitest';
import { type Edit, editMessage } from '../../../src/store/message/edit.ts';
import { cancelMessage } from '../../../src/store/message/write.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import {
  ada,
  auditOf,
  failAll,
  failHead,
  type Operator,
  ownOperator,
} from '../../support/fixtures/operator.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
let operator: Operator;
eachLane((made) => {
  fixture = made;
  operator = ownOperator(made);
});

/** A fixture whose failed messages keep their keys. */
async function holdingFixture(): Promise<void> {
  fixture = await fixture.renewed({ exhausted: 'block-key' });
  operator = ownOperator(fixture);
}

test('an edit sends a corrected copy in place of the failed message', async () => {
  await holdingFixture();
  await failHead(fixture);
  const before = await operator.show(fixture.idOf('K1'));

  const edited = await operator.edit(fixture.idOf('K1'), {
    ...ada,
    payload: 'K1 corrected',
    headers: { why: 'bug' },
  });
  expect(edited.supersedes).toBe(fixture.idOf('K1'));
  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['K1 corrected', 'K2', 'K3']);
  expect(fixture.broker.log[0]).toMatchObject({ id: edited.id, key: 'K' });
  const copy = await operator.show(edited.id);
  expect(copy?.message).toMatchObject({
    state: 'published',
    position: before?.message?.position,
    supersedes: fixture.idOf('K1'),
    headers: { why: 'bug' },
  });
  expect(await operator.show(fixture.idOf('K1'))).toMatchObject({
    message: { state: 'superseded', supersededBy: edited.id },
    why: { code: 'superseded' },
  });
});

test('a ref means the later message that has it, not the copy of an earlier one', {
  tags: ['edit-happens-once'],
}, async () => {
  const { broker, database, topic } = fixture;
  broker.judge = (message) => (labelOf(message) === 'old' ? 'permanent' : 'reject');
  for (const label of ['old', 'later']) {
    await fixture.send(label, { ref: 'r' });
    await fixture.drain();
  }
  expect(await fixture.states('old', 'later')).toEqual(['failed', 'retrying']);
  broker.judge = () => 'store';
  const first = await operator.edit(fixture.idOf('old'), { ...ada, payload: 'corrected' });
  await fixture.drain();

  expect(broker.labels).toEqual(['corrected']);
  expect((await operator.show(first.id))?.message?.ref).toBeNull();
  expect(await cancelMessage(database, topic, { ref: 'r' })).toBe('canceled');
  expect(await fixture.states('later')).toEqual(['canceled']);
});

test('the copy of the latest message of a ref has it', async () => {
  fixture.broker.judge = () => 'permanent';
  for (const label of ['old', 'latest']) {
    await fixture.send(label, { ref: 'r' });
    await fixture.drain();
  }
  const copy = await operator.edit(fixture.idOf('latest'), { ...ada, payload: 'corrected' });
  expect((await operator.show(copy.id))?.message?.ref).toBe('r');
});

test('the audit of an edit says what was changed, by nothing that is made of a payload', async () => {
  await failAll(fixture, ['secret']);
  const { id: copy } = await operator.edit(fixture.idOf('secret'), { ...ada, payload: 'hidden' });

  const [entry] = await auditOf(fixture);
  expect(entry).toMatchObject({ action: 'edit', result: 'edited', id: fixture.idOf('secret') });
  expect(entry?.details).toMatchObject({
    copy,
    payload: { changed: true },
    headers: { changed: false },
  });
  expect(JSON.stringify(entry)).not.toMatch(/secret|hidden|[0-9a-f]{64}/);
});

test('the text of an edited payload is stored byte for byte', async () => {
  await failAll(fixture, ['A']);
  const text = '{ "big": 12345678901234567890,  "odd": "\\u0000" }';

  const { id } = await operator.edit(fixture.idOf('A'), { ...ada, payloadText: text });

  expect((await operator.show(id))?.message?.payload).toBe(text);
});

test('an edit of a version other than the one read is a conflict', async () => {
  await failAll(fixture, ['A']);
  const { version } = (await operator.show(fixture.idOf('A')))?.message ?? {};
  fixture.broker.judge = () => 'permanent';
  await operator.retry(operator.of('A'), ada);
  await fixture.drain();

  const edit = operator.edit(fixture.idOf('A'), { ...ada, payload: 1, expectedVersion: version ?? '' });

  await expect(edit).rejects.toMatchObject({ code: 'OUTBOX_CONFLICT', details: { state: 'failed' } });
  expect(await fixture.states('A')).toEqual(['failed']);
});

test('an edit that is not allowed is refused, and the message stays failed', async () => {
  await failAll(fixture, ['A']);

  for (const [change, code] of [
    [{ key: 'other' }, 'OUTBOX_OPTION_INVALID'],
    [{ headers: { traceparent: 'x' } }, 'OUTBOX_HEADER_INVALID'],
    [{ headers: { ce_id: 'x' } }, 'OUTBOX_HEADER_INVALID'],
    [{ headers: { 'outbox-attempt': null } }, 'OUTBOX_HEADER_INVALID'],
    [{ payloadText: '{' }, 'OUTBOX_PAYLOAD_INVALID'],
    [{ payload: 'x'.repeat(921_600) }, 'OUTBOX_PAYLOAD_TOO_LARGE'],
    [{}, 'OUTBOX_OPTION_INVALID'],
  ] as const)
    await expect(operator.edit(fixture.idOf('A'), { ...ada, ...change })).rejects.toMatchObject({ code });
  expect(await fixture.states('A')).toEqual(['failed']);
});

const copies: readonly (readonly [what: string, Edit, code: string | undefined])[] = [
  ['a reserved header', { headers: { ce_id: 'x' } }, 'OUTBOX_HEADER_INVALID'],
  ['too many headers', { headers: { why: 'x'.repeat(32_768) } }, 'OUTBOX_HEADER_INVALID'],
  ['a payload that is too large', { payload: `"${'x'.repeat(921_600)}"` }, 'OUTBOX_PAYLOAD_TOO_LARGE'],
  ['other headers', { headers: { why: 'bug' } }, undefined],
  ['no headers', { headers: null }, undefined],
  ['the same headers', { payload: '1' }, undefined],
];

test('the database itself checks a copy', async () => {
  fixture.broker.judge = () => 'permanent';
  for (const [what, edit, code] of copies) {
    await fixture.send(what, { headers: { old: 'yes' } });
    await fixture.drain();

    const answer = await editMessage(fixture.database, fixture.idOf(what), edit, ada, false);

    expect(answer, what).toMatchObject(code === undefined ? { kind: 'edited' } : { kind: 'refused', code });
    expect([what, ...(await fixture.states(what))]).toEqual([
      what,
      code === undefined ? 'superseded' : 'failed',
    ]);
    if (answer.kind !== 'edited') continue;
    const headers = edit.headers === undefined ? { old: 'yes' } : edit.headers;
    expect((await operator.show(answer.id))?.message?.headers, what).toEqual(headers);
  }
});

test('a message that does not exist or is not failed cannot be edited', async () => {
  await fixture.send('A');
  const nobody = '00000000-0000-4000-8000-000000000000';

  await expect(operator.edit(nobody, { ...ada, payload: 1 })).rejects.toMatchObject({
    code: 'OUTBOX_MESSAGE_UNKNOWN',
  });
  await expect(operator.edit(fixture.idOf('A'), { ...ada, payload: 1 })).rejects.toMatchObject({
    code: 'OUTBOX_CONFLICT',
    details: { state: 'ready' },
  });
});
