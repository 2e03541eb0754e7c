import type { Mutation } from '../mutation.ts';

const archive = 'archive-blocks-nothing';
const gathered = 'history-slows-nothing';

/** What is finished is archived, what is missing is started again, and processed ids are dropped by epochs. */
export const maintenanceMutations: readonly Mutation[] = [
  {
    name: 'archive-reads-the-whole-log',
    promise: archive,
    file: 'src/store/retention/archive.ts',
    find: `m.position > 0 and m.position > $3`,
    replace: `m.position > 0 and m.position + 0 > $3`,
    test: 'test/integration/database/archive-plans.test.ts',
    title: 'a page of passed messages touches only the messages that it moves',
  },
  {
    name: 'archive-of-what-is-not-passed',
    promise: archive,
    file: 'src/store/retention/archive.ts',
    find: 'and outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m.position, m.xid)',
    replace: 'and m.position <= l.cursor',
    test: 'test/integration/database/archive.test.ts',
    title: 'messages that wait, retry, are blocked or not passed stay, whatever their age',
  },
  {
    name: 'archive-of-what-is-suspect',
    promise: archive,
    file: 'src/store/retention/archive.ts',
    find: 'and (m.position <= $5 or l.suspect is null or not pg_visible_in_snapshot(m.xid, l.suspect))',
    replace: 'and $5::bigint is not null',
    test: 'test/integration/database/archive.test.ts',
    title:
      'messages visible to a dead owner stay for a day after they were passed, even where archiving is sooner',
  },
  {
    name: 'leaf-as-old-as-its-newest-creation',
    promise: archive,
    file: 'src/store/retention/leaf.ts',
    find: 'max(greatest(created_at, updated_at))',
    replace: 'max(created_at)',
    test: 'test/integration/database/leaf-age.test.ts',
    title: 'a leaf is as old as its newest message',
  },
  {
    name: 'leaf-as-old-as-its-newest-change',
    promise: archive,
    file: 'src/store/retention/leaf.ts',
    find: 'max(greatest(created_at, updated_at))',
    replace: 'max(updated_at)',
    test: 'test/integration/database/leaf-age.test.ts',
    title: 'a leaf is as old as its newest message',
  },
  {
    name: 'every-database-knows-the-question',
    promise: 'second-database-detected',
    file: 'src/store/installation/twin.ts',
    find: 'select exists (select from answered) as known',
    replace: 'select true as known',
    test: 'test/faults/installation-twice.test.ts',
    title:
      'a relay of a clone refuses to start while the original runs, and starts once the clone has an id of its own',
  },
  {
    name: 'lane-row-by-its-key',
    promise: gathered,
    file: 'src/store/lane/lane-row.ts',
    find: 'return ctids.get(lane) ?? null;',
    replace: 'return ctids.has(lane) ? null : null;',
    test: 'test/integration/relay/lane-versions.test.ts',
    title: 'finds its lane without reading its earlier versions',
  },
  {
    name: 'walk-from-the-start',
    promise: gathered,
    file: 'src/store/lane/due-edge.ts',
    find: 'return now >= this.#restsUntil ? null : this.#from;',
    replace: 'return now >= this.#restsUntil ? this.#from : null;',
    test: 'test/integration/relay/due-edge.test.ts',
    title: 'behind an old snapshot looks and sweeps read due messages, not released ones',
  },
  {
    name: 'overdue-walks-what-was-confirmed',
    promise: 'history-slows-nothing',
    file: 'src/store/message/confirm-overdue.ts',
    find: `and m.confirm_by >= coalesce(t.begins, '-infinity') and m.confirm_by`,
    replace: 'and m.confirm_by',
    test: 'test/integration/receipts/old-snapshot.test.ts',
    title: 'behind an old snapshot a check for overdue messages',
  },
];
