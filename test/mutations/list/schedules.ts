import type { Mutation } from '../mutation.ts';

const promise = 'A repeating message';
const test = 'test/integration/sending/schedule.test.ts';

/** A row repeats a message. */
export const scheduleMutations: readonly Mutation[] = [
  {
    name: 'scheduled-with-a-random-id',
    promise,
    file: 'src/store/schedule/write-due.ts',
    find: '    const answer = await storeScheduled(sql, name, due, at, due.id);\n',
    replace: '    const answer = await storeScheduled(sql, name, due, at);\n',
    test,
    title: 'a time writes one message, also when it is tried again',
  },
  {
    name: 'paused-schedule-writes',
    promise,
    file: 'src/store/schedule/write-due.ts',
    find: `    if (due.paused) return 'paused';\n`,
    replace: '',
    test,
    title: 'operators list, pause, resume, run and remove a schedule without Temporal',
  },
  {
    name: 'late-time-written',
    promise,
    file: 'src/store/schedule/write-due.ts',
    find: `    if (due.late) return 'late';\n`,
    replace: '',
    test,
    title: 'a time that is later than the schedule catches up writes nothing',
  },
  {
    name: 'overlap-not-skipped',
    promise,
    file: 'src/store/schedule/write-due.ts',
    find: `v.state in ('waiting', 'ready', 'blocked', 'retrying')`,
    replace: `v.state in ('waiting', 'blocked', 'retrying')`,
    test,
    title: 'with overlap skip a time writes nothing while the previous message is to be sent',
  },
  {
    name: 'schedule-always-differs',
    promise,
    file: 'src/temporal/relay/repeater.ts',
    find: `\${offset ?? 0}`,
    replace: `\${offset}`,
    test: 'test/integration/temporal/repeating.test.ts',
    title: 'a schedule by its distance that is as wanted in Temporal is not changed',
  },
  {
    name: 'schedule-drift-kept',
    promise,
    file: 'src/temporal/relay/repeater.ts',
    find: '    state.paused === made.state.paused\n',
    replace: '    state.note !== made.spec.timezone\n',
    test: 'test/integration/temporal/repeating.test.ts',
    title: 'what differs in Temporal is repaired',
  },
];
