import type { Mutation } from '../mutation.ts';

const confirmed = 'confirmed-was-processed';

/** A batch is published and settled, and its receipts come or do not. */
export const settleMutations: readonly Mutation[] = [
  {
    name: 'conflict-of-a-statement-not-repeated',
    promise: 'pooler-costs-speed-only',
    file: 'src/store/database/pool.ts',
    find: 'const triesInConflict = 10;',
    replace: 'const triesInConflict = 1;',
    test: 'test/integration/database/pool-isolation.test.ts',
  },
  {
    name: 'refused-message-skips-all-keys',
    promise: 'one-bad-slows-no-other',
    file: 'src/brokers/kafka/transport/partition-send.ts',
    find: 'if (key === null || !blockedKeys.has(key)) return true;',
    replace: 'if (key === null) return true;',
    test: 'test/unit/brokers/kafka/partition-send.test.ts',
  },
  {
    name: 'failures-told-while-lanes-change',
    promise: 'failures-reported',
    file: 'src/store/lane/untold.ts',
    find: 'and not exists (select from outbox.topic_change c where c.topic = $1)',
    replace: '',
    test: 'test/integration/relay/told-failures.test.ts',
    title: 'a drain during a change of lanes, and one that read before the last step, forget no failures',
  },
  {
    name: 'told-what-was-not-read',
    promise: 'failures-reported',
    file: 'src/store/lane/untold.ts',
    find: 'and untold_from = $4 and untold_to = $5',
    replace: 'and untold_from = $4 and $5::bigint is not null',
    test: 'test/integration/relay/told-failures.test.ts',
    title: 'a drain during a change of lanes, and one that read before the last step, forget no failures',
  },
  {
    name: 'changed-lanes-forget-what-is-untold',
    promise: 'failures-reported',
    file: 'src/store/lane/lanes-switch.ts',
    find: `    await shareUntold(sql, change);\n`,
    replace: '',
    test: 'test/integration/relay/told-failures.test.ts',
    title: 'failures that a dead relay has settled but not reported are reported although',
  },
  {
    name: 'failures-of-a-dead-relay-not-reported',
    promise: 'failures-reported',
    file: 'src/relay/drain.ts',
    find: 'this.#untold = at.untold;',
    replace: 'this.#untold = at.untold && false;',
    test: 'test/integration/relay/told-failures.test.ts',
    title:
      'failures that a dead relay has settled but not reported are reported once by the next owner of its lane',
  },
  {
    name: 'lane-without-messages-reports-nothing',
    promise: 'failures-reported',
    file: 'outbox.has_work()',
    find: 'p_lane.untold_from is not null',
    replace: 'p_lane.untold_from is not null and false',
    test: 'test/integration/relay/told-failures.test.ts',
    title: 'a lane with nothing but failures of a dead relay is taken to report them',
  },
  {
    name: 'failure-rests-its-lane',
    promise: 'one-bad-slows-no-other',
    file: 'src/relay/drain.ts',
    find: 'this.#at = progressOf(settlement);',
    replace: `this.#at = progressOf(settlement);
    if (settlement.changes.some((change) => change.to === 'retrying')) await rest(600, this.#stop);`,
    test: 'test/invariants/isolation.test.ts',
    title:
      'I15 with a poison key, a topic that refuses everything and one on hold, other topics keep nine tenths of their rate',
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
    find: 'return { time, ends,',
    replace: 'return { time: await this.#clock(), ends,',
    test: 'test/unit/relay/passed-times.test.ts',
  },
  {
    name: 'times-of-a-wrong-clock-stay-passed',
    promise: confirmed,
    file: 'src/relay/passed-times.ts',
    find: 'time !== undefined && time > now',
    replace: `time === now`,
    test: 'test/unit/relay/passed-times.test.ts',
    title: 'after the clock was set back nothing counts as passed that was published since',
  },
  {
    name: 'open-entries-of-redis-count-as-passed',
    promise: confirmed,
    file: 'src/brokers/redis/source/stream-scripts.ts',
    find: `return { open or '', field(group, 'last-delivered-id') }`,
    replace: `return { '', field(group, 'last-delivered-id') }`,
    test: 'test/transports/redis/offsets.test.ts',
  },
];
