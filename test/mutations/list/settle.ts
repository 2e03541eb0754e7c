import type { Mutation } from '../mutation.ts';

const confirmed = 'A confirmed message was processed';

/** A batch is published and settled, and its receipts come or do not. */
export const settleMutations: readonly Mutation[] = [
  {
    name: 'no-answer-counts-as-unsent',
    promise: 'No loss (I1)',
    file: 'src/relay/publish-batch.ts',
    find: `  kind: 'ambiguous',\n  error: 'The transport returned no outcome for this message.',`,
    replace: `  kind: 'rejected',\n  error: 'The transport returned no outcome for this message.',`,
    test: 'test/unit/relay/publish-batch.test.ts',
  },
  {
    name: 'sends-after-a-hold',
    promise: 'Order per key (I3)',
    file: 'src/transports/kafka/partition-send.ts',
    find: 'if (hold !== undefined) {\n',
    replace: 'if (hold === stopped) {\n',
    test: 'test/unit/transports/kafka-partition-send.test.ts',
  },
  {
    name: 'refused-message-skips-all-keys',
    promise: 'One bad message, key or topic slows no other (I15)',
    file: 'src/transports/kafka/partition-send.ts',
    find: 'if (key === null || !blockedKeys.has(key)) return true;',
    replace: 'if (key === null) return true;',
    test: 'test/unit/transports/kafka-partition-send.test.ts',
  },
  {
    name: 'truncated-batch-moves-the-cursor',
    promise: 'No loss (I1)',
    file: 'src/relay/plan-settlement.ts',
    find: 'if (last === undefined || (truncated && BigInt(last) <= BigInt(cursor))) return undefined;',
    replace: 'if (last === undefined) return undefined;',
    test: 'test/unit/relay/plan-settlement.test.ts',
  },
  {
    name: 'snapshot-stays',
    promise: 'Duplicates are bounded (I11)',
    file: 'src/relay/plan-settlement.ts',
    find: '...(next ?? progress),',
    replace: '...(next ?? progress),\n    snapshot: progress.snapshot ?? claim.snapshot,',
    test: 'test/unit/relay/plan-settlement.test.ts',
  },
  {
    name: 'hold-outlasts-its-cause',
    promise: 'It recovers by itself (I13)',
    file: 'src/relay/timings.ts',
    find: 'probeIntervalMs: 1_000,',
    replace: 'probeIntervalMs: 8_000,',
    test: 'test/invariants/isolation.test.ts',
    title: 'I13 a hold ends within 2 s of the recovery of its broker',
  },
  {
    name: 'failure-rests-its-lane',
    promise: 'One bad message, key or topic slows no other (I15)',
    file: 'src/relay/drain.ts',
    find: 'this.#at = settlement;',
    replace: `this.#at = settlement;
    if (settlement.changes.some((change) => change.to === 'retrying')) await rest(600, this.#stop);`,
    test: 'test/invariants/isolation.test.ts',
    title: 'I15 beside a poison key',
  },
  {
    name: 'hold-burns-an-attempt',
    promise: 'It recovers by itself (I13)',
    file: 'src/relay/plan-settlement.ts',
    find: `return { id, to: 'ready', maybePublished`,
    replace: `return { id, to: 'ready', attempt: 'ambiguous', maybePublished`,
    test: 'test/unit/relay/plan-settlement.test.ts',
  },
  {
    name: 'settle-without-the-owner',
    promise: 'A frozen process does no harm when it thaws',
    file: 'src/store/lane/lane-row.ts',
    find: `outbox.lane_owned(l, $3)';`,
    replace: `$3::uuid is not null';`,
    test: 'test/integration/relay-lease.test.ts',
    title: 'an owner that lost its lane claims nothing',
  },
  {
    name: 'settle-overwrites-a-state',
    promise: confirmed,
    file: 'src/store/lane/settle.ts',
    find: `state = case when m.state = 'ready' then c.state else m.state end,`,
    replace: 'state = c.state,',
    test: 'test/integration/confirm-receipts.test.ts',
    title: 'a receipt before the settle is not undone by it',
  },
  {
    name: 'overdue-at-the-first-offset-not-passed',
    promise: confirmed,
    file: 'src/relay/overdue-verdict.ts',
    find: 'BigInt(next) <= BigInt(offset)',
    replace: 'BigInt(next) < BigInt(offset)',
    test: 'test/unit/relay/overdue-verdict.test.ts',
  },
  {
    name: 'receipts-read-before-the-offsets',
    promise: confirmed,
    file: 'src/relay/overdue-offsets.ts',
    find: `    const passed = await this.#reader.committed(group, address);
    return { at, passed, receiptEnds: await this.#reader.ends(this.#receipts.address) };`,
    replace: `    const receiptEnds = await this.#reader.ends(this.#receipts.address);
    return { at, passed: await this.#reader.committed(group, address), receiptEnds };`,
    test: 'test/unit/relay/overdue-offsets.test.ts',
  },
  {
    name: 'resend-overtakes',
    promise: 'Order per key (I3)',
    file: 'src/store/message/confirm-overdue.ts',
    find: 'from due d where m.id = d.id and d.confirm_by is null\n',
    replace: 'from due d where m.id = d.id\n',
    test: 'test/integration/confirm-overdue.test.ts',
    title: 'a message does not overtake an earlier one of its key',
  },
];
