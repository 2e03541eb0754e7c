import type { Mutation } from '../mutation.ts';

const confirmed = 'A confirmed message was processed';

/** A batch is published and settled, and its receipts come or do not. */
export const settleMutations: readonly Mutation[] = [
  {
    name: 'transaction-with-the-default-level',
    promise: 'No loss (I1)',
    file: 'src/store/database/pool.ts',
    find: `'begin isolation level read committed'`,
    replace: `'begin'`,
    test: 'test/integration/operations/split-reads.test.ts',
    title: 'a transaction is read committed',
  },
  {
    name: 'conflict-of-a-statement-not-repeated',
    promise: 'A pooler that shares connections costs speed only',
    file: 'src/store/database/pool.ts',
    find: 'const triesInConflict = 10;',
    replace: 'const triesInConflict = 1;',
    test: 'test/integration/database/pool-isolation.test.ts',
  },
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
    file: 'src/brokers/kafka/transport/partition-send.ts',
    find: 'if (hold !== undefined) {\n',
    replace: 'if (hold === stopped) {\n',
    test: 'test/unit/brokers/kafka/partition-send.test.ts',
  },
  {
    name: 'refused-message-skips-all-keys',
    promise: 'One bad message, key or topic slows no other (I15)',
    file: 'src/brokers/kafka/transport/partition-send.ts',
    find: 'if (key === null || !blockedKeys.has(key)) return true;',
    replace: 'if (key === null) return true;',
    test: 'test/unit/brokers/kafka/partition-send.test.ts',
  },
  {
    name: 'late-wal-writer-unnoticed',
    promise: 'Duplicates are bounded (I11)',
    file: 'src/operations/doctor/server-checks.ts',
    find: 'const slowWriterMs = 1_000;',
    replace: 'const slowWriterMs = 100_000;',
    test: 'test/integration/doctor/database.test.ts',
    title: 'asynchronous commits that no client waits for are a warning that names what a crash repeats',
  },
  {
    name: 'failures-of-a-dead-relay-not-reported',
    promise: 'Final failures are reported',
    file: 'src/relay/drain.ts',
    find: 'this.#untold = at.untold;',
    replace: 'this.#untold = at.untold && false;',
    test: 'test/integration/relay/told-failures.test.ts',
    title:
      'failures that a dead relay has settled but not reported are reported once by the next owner of its lane',
  },
  {
    name: 'lane-without-messages-reports-nothing',
    promise: 'Final failures are reported',
    file: 'outbox.has_work()',
    find: 'p_lane.untold_from is not null',
    replace: 'p_lane.untold_from is not null and false',
    test: 'test/integration/relay/told-failures.test.ts',
    title: 'a lane with nothing but failures of a dead relay is taken to report them',
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
    title: 'I13 a hold ends within 2 s of the recovery of its broker, and waiting messages are sent at once',
  },
  {
    name: 'failure-rests-its-lane',
    promise: 'One bad message, key or topic slows no other (I15)',
    file: 'src/relay/drain.ts',
    find: 'this.#at = settlement;',
    replace: `this.#at = settlement;
    if (settlement.changes.some((change) => change.to === 'retrying')) await rest(600, this.#stop);`,
    test: 'test/invariants/isolation.test.ts',
    title:
      'I15 with a poison key, a topic that refuses everything and one on hold, other topics keep nine tenths of their rate',
  },
  {
    name: 'hold-uses-up-an-attempt',
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
    test: 'test/integration/relay/lease.test.ts',
    title: 'an owner that lost its lane claims nothing',
  },
  {
    name: 'settle-overwrites-a-state',
    promise: confirmed,
    file: 'src/store/lane/settle.ts',
    find: `state = case when m.state = 'ready' then c.state else m.state end,`,
    replace: 'state = c.state,',
    test: 'test/integration/receipts/receipts.test.ts',
    title: 'the settle does not undo an earlier receipt, and the row still gets its offset',
  },
  {
    name: 'repeated-settle-counts-again',
    promise: 'The retry delays of a topic apply wherever its messages are tried',
    file: 'src/store/lane/settle.ts',
    find: 'pg_visible_in_snapshot(m.xid, $11::pg_snapshot)',
    replace: '$11::pg_snapshot is not null',
    test: 'test/integration/relay/settle-repeated.test.ts',
  },
  {
    name: 'repeated-settle-judged-by-the-lane',
    promise: 'The retry delays of a topic apply wherever its messages are tried',
    file: 'src/relay/plan-settlement.ts',
    find: 'claimSnapshot: claim.snapshot,',
    replace: 'claimSnapshot: progress.snapshot ?? claim.snapshot,',
    test: 'test/unit/relay/plan-settlement.test.ts',
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
    find: `    const passed: Passed = unplaced
      ? await this.#times.passed(group, address)
      : { offsets: await this.#reader.committed(group, address), before: undefined, soon: false };
    return { at, passed, receiptEnds: await this.#reader.ends(this.#receipts.address) };`,
    replace: `    const receiptEnds = await this.#reader.ends(this.#receipts.address);
    const passed: Passed = unplaced
      ? await this.#times.passed(group, address)
      : { offsets: await this.#reader.committed(group, address), before: undefined, soon: false };
    return { at, passed, receiptEnds };`,
    test: 'test/unit/relay/overdue-offsets.test.ts',
  },
  {
    name: 'ends-read-before-the-time',
    promise: confirmed,
    file: 'src/relay/passed-times.ts',
    find: `    const time = await this.#clock();
    const ends = await this.#reader.ends(address);`,
    replace: `    const ends = await this.#reader.ends(address);
    const time = await this.#clock();`,
    test: 'test/unit/relay/passed-times.test.ts',
  },
  {
    name: 'open-entries-of-redis-count-as-passed',
    promise: confirmed,
    file: 'src/brokers/redis/source/stream-scripts.ts',
    find: `return { open or '', field(group, 'last-delivered-id') }`,
    replace: `return { '', field(group, 'last-delivered-id') }`,
    test: 'test/transports/redis/offsets.test.ts',
  },
  {
    name: 'resend-overtakes',
    promise: 'Order per key (I3)',
    file: 'src/store/message/confirm-overdue.ts',
    find: 'from due d where m.id = d.id and d.confirm_by is null\n',
    replace: 'from due d where m.id = d.id\n',
    test: 'test/integration/receipts/overdue.test.ts',
    title: 'a message does not overtake an earlier locked one of its key',
  },
  {
    name: 'a-late-copy-of-a-settle-moves-back',
    promise: 'A committed cancel holds (I5)',
    file: 'outbox.lane_may_pass()',
    find: 'l.cursor < p_cursor or',
    replace: 'true or',
    test: 'test/integration/relay/settle-repeated.test.ts',
    title:
      'a copy of a settle that arrives after the next one takes nothing back; what is passed was committed late: ',
  },
  {
    name: 'a-late-copy-of-a-settle-forgets-late-ones',
    promise: 'A committed cancel holds (I5)',
    file: 'outbox.lane_may_pass()',
    find: 'l.cursor = p_cursor and (l.snapshot is null',
    replace: 'l.cursor = p_cursor and (true',
    test: 'test/integration/relay/settle-repeated.test.ts',
    title:
      'a copy of a settle that arrives after the next one takes nothing back; what is passed was committed late: ',
  },
];
