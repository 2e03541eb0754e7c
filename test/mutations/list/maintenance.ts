import type { Mutation } from '../mutation.ts';

const archive = 'The archive keeps nobody waiting';
const window = 'The window is kept (I12)';
const slowHandlers = 'Slow handlers do not keep processed ids for ever';
const strangers = 'Strangers fill no table';

/** What is finished is archived, what is missing is started again, and processed ids are dropped by epochs. */
export const maintenanceMutations: readonly Mutation[] = [
  {
    name: 'archive-of-what-is-not-passed',
    promise: archive,
    file: 'src/store/archive.ts',
    find: 'and m.position <= l.cursor and pg_visible_in_snapshot(m.xid, l.snapshot)',
    replace: 'and m.position <= l.cursor',
    test: 'test/integration/archive.test.ts',
    title: 'what waits, retries, is held, or is not passed stays',
  },
  {
    name: 'archive-of-what-is-suspect',
    promise: archive,
    file: 'src/store/archive.ts',
    find: 'and (m.position <= $5 or l.suspect is null or not pg_visible_in_snapshot(m.xid, l.suspect))',
    replace: 'and $5::bigint is not null',
    test: 'test/integration/archive.test.ts',
    title: 'what a dead owner could see stays for a day',
  },
  {
    name: 'reconcile-restarts-nothing',
    promise: 'No loss (I1)',
    file: 'src/relay/reconcile.ts',
    find: 'if (!(await census.isRunning(id))) missing.push(id);',
    replace: 'await census.isRunning(id);',
    test: 'test/integration/reconcile-pages.test.ts',
    title: 'a message without a workflow is handed to the starter again',
  },
  {
    name: 'epoch-aged-from-its-begin',
    promise: window,
    file: 'src/store/inbox/epochs.ts',
    find: 'coalesce(e.ended_at, e.begun_at)',
    replace: 'e.begun_at',
    test: 'test/integration/processed-epochs.test.ts',
    title: 'an epoch lasts a quarter of the window',
  },
  {
    name: 'epoch-ends-under-its-writers',
    promise: window,
    file: 'outbox.roll_processed()',
    find: '    lock table only outbox.processed in share row exclusive mode;\n',
    replace: '',
    test: 'test/invariants/dedup-window.test.ts',
    title: 'I12: no id is new twice',
  },
  {
    name: 'every-database-knows-the-question',
    promise: 'Two living databases of one installation are found',
    file: 'src/store/twin.ts',
    find: 'select exists (select from answered) as known',
    replace: 'select true as known',
    test: 'test/faults/installation-twice.test.ts',
    title: 'a relay of a clone refuses to start beside the living original',
  },
  {
    name: 'epoch-dropped-with-ids-of-kept-messages',
    promise: window,
    file: 'outbox.drop_processed()',
    find: ' and e.kept_done',
    replace: '',
    test: 'test/integration/processed-drop.test.ts',
  },
  {
    name: 'change-of-epochs-never-more-patient',
    promise: slowHandlers,
    file: 'outbox.begin_epoch_change()',
    find: 'p_patience_ms * 2 ^ least(p_old.tries, 10)',
    replace: 'p_patience_ms',
    test: 'test/integration/processed-keeper.test.ts',
    title: 'a change of epochs is tried once a minute',
  },
  {
    name: 'change-of-epochs-at-every-look',
    promise: slowHandlers,
    file: 'outbox.begin_epoch_change()',
    find: `if p_old.tried_at > clock_timestamp() - p_pause_ms * interval '1 ms' then return null; end if;`,
    replace: '',
    test: 'test/integration/processed-keeper.test.ts',
    title: 'a change of epochs is tried once a minute',
  },
  {
    name: 'failed-messages-stay-for-ever',
    promise: strangers,
    file: 'outbox.drop_failed_kept()',
    find: 'and k.updated_at < outbox.clock()',
    replace: 'and false and k.updated_at < outbox.clock()',
    test: 'test/integration/kept-retention.test.ts',
    title: 'failed messages go when their group asks for it',
  },
  {
    name: 'failed-message-goes-that-holds-its-key',
    promise: strangers,
    file: 'outbox.drop_failed_kept()',
    find: ` and k.state = 'failed' and k.key_id is null`,
    replace: ` and k.state = 'failed'`,
    test: 'test/integration/kept-retention.test.ts',
    title: 'failed messages go when their group asks for it',
  },
];
