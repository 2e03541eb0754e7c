import type { Mutation } from '../mutation.ts';

const othersFlow = 'waiting-key-blocks-no-other';
const order = 'order-survives-parking';
const hotKey = 'hot-key-leaves-parking';
const withoutTemporal = 'parked-tried-without-temporal';
const audited = 'actions-audited';

const letters = 'dead-letters-copied';
const openHandlers =
  'the first try of a key that is parked again waits for older handlers as long as they run, and for no other transaction';

/** A message that failed waits for its next try, and for a person. */
export const parkedMutations: readonly Mutation[] = [
  {
    name: 'every-key-queues',
    promise: othersFlow,
    file: 'outbox.receive()',
    find: `x.topic = d.topic and x.key >= d.key and x.key <= d.key
              order by x.key limit 1) f))
      order by k.id for key share
    )
    select array_agg(exists (select from locked l where l.topic = coalesce(u.topic, p_topics[1]) and l.key = u.key) order by u.n)`,
    replace: `x.topic = d.topic) f))
      order by k.id for key share
    )
    select array_agg(exists (select from locked l where l.topic = coalesce(u.topic, p_topics[1])) order by u.n)`,
    test: 'test/invariants/parked-key-race.test.ts',
    title: 'while a key is parked, only messages of that key queue',
  },
  {
    name: 'parked-queue-ignored',
    promise: order,
    file: 'outbox.receive()',
    find: `case when behind[u.n] then 'behind' else 'new' end`,
    replace: `'new'`,
    test: 'test/invariants/parked-key-race.test.ts',
    title: 'I3: a message that queues while its key is drained keeps the key parked and follows in order',
  },
  {
    name: 'batch-overtakes-a-key-just-parked',
    promise: order,
    file: 'outbox.receive()',
    find: 'if cardinality(p_ids) > 1 and exists (',
    replace: 'if cardinality(p_ids) < 1 and exists (',
    test: 'test/invariants/parked-key-race.test.ts',
    title: 'a batch that waited for a message that another consumer',
  },
  {
    name: 'retry-does-not-wait-for-older-handlers',
    promise: order,
    file: 'outbox.begin_try()',
    find: 'if k.unseen_before is not null then',
    replace: 'if k.unseen_before is null then',
    test: 'test/integration/inbox/retry-fence.test.ts',
    title:
      'the first try of a key that is parked again waits for handlers that began before or during the retry',
  },
  {
    name: 'retry-waits-half-a-minute-for-handlers',
    promise: order,
    file: 'outbox.begin_try()',
    find: 'if k.unseen_before is not null then',
    replace: `if k.unseen_before is not null and outbox.clock() < k.parked_at + interval '30 s' then`,
    test: 'test/integration/inbox/retry-fence.test.ts',
    title: openHandlers,
  },
  {
    name: 'retry-waits-for-transactions-of-others',
    promise: order,
    file: 'outbox.older_handlers()',
    find: ` and looked.relation = 'outbox.parked_key'::regclass`,
    replace: '',
    test: 'test/integration/inbox/retry-fence.test.ts',
    title: openHandlers,
  },
  {
    name: 'retry-does-not-wait-for-batches',
    promise: order,
    file: 'outbox.receive()',
    find: 'perform pg_current_xact_id();',
    replace: 'perform 1;',
    test: 'test/integration/inbox/retry-fence.test.ts',
    title: 'the first try of a key that is parked again also waits for',
  },
  {
    name: 'letters-behind-a-refused-one-wait',
    promise: letters,
    file: 'src/inbox/parked/dead-letters.ts',
    find: 'const next = away || blocked.length === left.length ? [] : blocked;',
    replace: 'const next: typeof blocked = away ? [] : [];',
    test: 'test/integration/inbox/letter-rounds.test.ts',
    title:
      'refused dead letters stay, and keep none of the others from being sent once, not even of their keys',
  },
  {
    name: 'letter-turn-of-a-wrong-clock-stays',
    promise: letters,
    file: 'src/store/inbox/dead-letters.ts',
    find: `t.ends_at not between clock_timestamp() and clock_timestamp() + $3 * interval '2 ms'`,
    replace: 't.ends_at < clock_timestamp()',
    test: 'test/integration/inbox/letter-rounds.test.ts',
    title: 'a turn from before the clock was set back is over',
  },
  {
    name: 'parked-queue-one-by-one',
    promise: hotKey,
    file: 'src/inbox/parked/key-drain.ts',
    find: 'await this.#begin(keyId, pace.size, false)',
    replace: 'await this.#begin(keyId, Math.min(pace.size, 1), false)',
    test: 'test/integration/parked/queues.test.ts',
    title: 'the queue of a parked key is handled in order, many messages in one transaction',
  },
  {
    name: 'workflow-replaced-while-it-waits',
    promise: 'parked-key-keeps-workflow',
    file: 'src/temporal/parked-key/starter.ts',
    find: 'return (raw.pendingActivities ?? []).length === 0;',
    replace: 'return (raw.pendingActivities ?? []).length >= 0;',
    test: 'test/integration/temporal/handle.test.ts',
    title: 'a key whose drain waits for one of few slots keeps its workflow',
  },
  {
    name: 'later-ones-overtake-a-busy-one',
    promise: order,
    file: 'outbox.retry_kept_in_order()',
    find: 'if v_key = any (v_busy) then',
    replace: 'if false then',
    test: 'test/integration/parked/kept-bulk.test.ts',
    title:
      'a locked message is not overtaken by later ones of its key, and one that was edited in between stays',
  },
  {
    name: 'filter-not-asked-under-the-lock',
    promise: audited,
    file: 'outbox.is_asked_for()',
    find: 'p_message.state = any (p_states)',
    replace: 'true',
    test: 'test/contract/bulk.test.ts',
    title: 'a locked message that no longer matches',
  },
  {
    name: 'bulk-page-not-counted-with-its-messages',
    promise: audited,
    file: 'src/store/bulk/page.ts',
    find: 'const counts = add(bulk.counts, answers);',
    replace: 'const counts = add(bulk.counts, bulk.group === null ? answers : []);',
    test: 'test/invariants/kept-bulk-once.test.ts',
    title:
      'I14 F01 a bulk operation on 900 kept messages continues when its consumers are killed and changes each exactly once',
    built: true,
  },
  {
    name: 'key-stand-in-waits-for-temporal',
    promise: withoutTemporal,
    file: 'src/inbox/parked/parked-watcher.ts',
    find: 'free: answering ? late : due.idle',
    replace: 'free: late',
    test: 'test/integration/parked/watcher-stand-ins.test.ts',
    title: 'while no worker of the process runs, a stand-in drains a due key at once',
  },
  {
    name: 'key-stand-in-gives-its-workflow-no-time',
    promise: withoutTemporal,
    file: 'src/inbox/parked/parked-watcher.ts',
    find: 'free: answering ? late : due.idle',
    replace: 'free: due.idle',
    test: 'test/integration/parked/watcher-stand-ins.test.ts',
    title:
      'while Temporal answers, a due key waits briefly for its workflow; then stand-ins drain as many keys as there are slots, and ask for their workflows',
  },
  {
    name: 'key-outage-unnoticed-while-nothing-starts',
    promise: withoutTemporal,
    file: 'src/inbox/parked/workflow-starts.ts',
    find: 'if (this.#toBeAsked && isEmpty(wanted))',
    replace: 'if (!this.#toBeAsked && isEmpty(wanted))',
    test: 'test/integration/parked/watcher-stand-ins.test.ts',
    title: 'after an outage Temporal is asked until it answers, also with nothing to start',
  },
  {
    name: 'key-begun-try-taken-by-another',
    promise: withoutTemporal,
    file: 'outbox.begin_try()',
    find: 'cardinality(p_retry_ms))], 5000)',
    replace: 'cardinality(p_retry_ms))], 0)',
    test: 'test/integration/parked/tries.test.ts',
    title: 'a try that one process has begun no other begins for five seconds, however short the delays',
  },
  {
    name: 'key-stand-in-beside-its-workflow',
    promise: withoutTemporal,
    file: 'src/inbox/parked/stand-ins.ts',
    find: 'await standIn?.over;',
    replace: 'await Promise.resolve();',
    test: 'test/unit/inbox/stand-ins.test.ts',
    title: 'a workflow takes its key over from the stand-in once that has ended',
  },
  {
    name: 'key-stand-ins-have-slots-of-their-own',
    promise: withoutTemporal,
    file: 'src/inbox/parked/stand-ins.ts',
    find: 'const slot = this.#input.slots.tryTake();',
    replace: 'const slot = this.#input.slots.tryTake() ?? { free: () => undefined };',
    test: 'test/unit/inbox/stand-ins.test.ts',
    title: 'workflows and stand-ins share the slots, and keys waiting for their workflow come first',
  },
  {
    name: 'stand-ins-stop-after-the-watcher',
    promise: 'handler-signal-fires',
    file: 'src/inbox/start-parked.ts',
    find: 'await Promise.all([watcher.stop(), standIns.stop(), hosted.stop()]);',
    replace: 'await watcher.stop(); await Promise.all([standIns.stop(), hosted.stop()]);',
    test: 'test/integration/inbox/signal.test.ts',
    title: 'it uses up no try either if the stop waits for a silent Temporal',
  },
  {
    name: 'outage-without-a-failed-start-never-ends',
    promise: withoutTemporal,
    file: 'src/inbox/parked/workflow-starts.ts',
    find: 'return this.#away || this.#input.away();',
    replace: 'return this.#away;',
    test: 'test/integration/parked/watcher-stand-ins.test.ts',
    title: 'while Temporal counts as unreachable without a failed start, it is asked until that ends',
  },
];
