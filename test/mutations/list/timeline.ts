import type { Mutation } from '../mutation.ts';

const told = 'timeline-is-honest';

/** Timelines that are false, or silent, about what happened: nothing fails, and only their reader is misled. */
export const timelineMutations: readonly Mutation[] = [
  {
    name: 'effect-after-parking-without-its-time',
    promise: told,
    file: 'outbox.end_try()',
    find: 'perform outbox.note_ended(p_group, p_ids, outbox.clock() + (clock_timestamp() - now()));',
    replace: '',
    test: 'test/integration/operations/timeline.test.ts',
    title: 'a timeline goes from the stored row through retries and the broker to the effect',
  },
  {
    name: 'carried-id-without-its-end',
    promise: told,
    file: 'outbox.carry_kept()',
    find: 'p.expired, p.ended_at',
    replace: 'p.expired, null',
    test: 'test/integration/inbox/processed-drop.test.ts',
    title: 'an id that is carried over is still known as expired and has its end',
  },
  {
    name: 'removed-kept-message-told-as-handled',
    promise: told,
    file: 'outbox.drop_ended_kept()',
    find: "set ended_at = 'infinity'",
    replace: 'set ended_at = null',
    test: 'test/integration/operations/why-groups.test.ts',
    title: 'a discarded message was ended by the group, also when its row is removed',
  },
  {
    name: 'removed-failed-message-told-as-handled',
    promise: told,
    file: 'outbox.drop_failed_kept()',
    find: "set ended_at = 'infinity'",
    replace: 'set ended_at = null',
    test: 'test/integration/operations/why-groups.test.ts',
    title: 'a failed message that is removed had no effect, and a verification does not miss that',
  },
  {
    name: 'expired-message-told-as-handled',
    promise: told,
    file: 'src/store/inbox/traces.ts',
    find: "when p.expired then 'expired'",
    replace: "when p.expired then 'committed'",
    test: 'test/integration/operations/why-groups.test.ts',
    title: 'a message that had expired was ended by the group, without an effect',
  },
  {
    name: 'lag-of-groups-elsewhere-not-asked',
    promise: told,
    file: 'src/app/relay/relay-presence.ts',
    find: 'Object.keys(config.groups ?? {})',
    replace: 'Object.keys({})',
    test: 'test/integration/operations/why-groups.test.ts',
    title: 'a message that waits at Kafka for a group with its inbox elsewhere is behind the group',
  },
  {
    name: 'another-record-taken-for-the-message',
    promise: told,
    file: 'src/operations/timeline/log-entry.ts',
    find: 'records.find((record) => record.id === id)',
    replace: "records.find((record) => record.id !== '')",
    test: 'test/integration/operations/show-log.test.ts',
    title: 'a topic that was created again ends before the record, or has another one in its place',
  },
  {
    name: 'deleted-record-not-told-as-deleted',
    promise: told,
    file: 'src/operations/timeline/log-entry.ts',
    find: 'BigInt(from) + BigInt(count) <= BigInt(whole.from)',
    replace: 'BigInt(from) + BigInt(count) < BigInt(whole.from)',
    test: 'test/integration/operations/show-log.test.ts',
    title: 'the log of Kafka says that a record is there, and that it is deleted',
  },
];
