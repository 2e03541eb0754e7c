import { type DoctorCheck, fine, problem, warning } from '../../core/diagnosis.ts';
import { mending } from '../../store/doctor/mending.ts';
import type { ServerFacts } from '../../store/doctor/server.ts';

const oldest = 15;
const newest = 18;

/** A commit that no client waits for is on the disk after at most so many delays of the WAL writer. */
const writerRounds = 3;
/** Five times the default. A delay of up to 10 s is allowed, and settles of lanes that keep up wait for none. */
const slowWriterMs = 1_000;

/** The server and the durability of its commits. */
export const serverChecks: readonly DoctorCheck<ServerFacts>[] = [
  {
    check: 'postgres version',
    judge({ major, version }) {
      if (major < oldest)
        return problem(
          `PostgreSQL ${version} is not supported: the schema needs ${oldest} or later.`,
          `Upgrade to PostgreSQL ${oldest} to ${newest}.`,
        );
      if (major > newest)
        return warning(
          `PostgreSQL ${version} is later than ${newest}, the newest that is tested.`,
          `Look for a newer version of temporal-outbox.`,
        );
      return fine(`PostgreSQL ${version}`);
    },
  },
  {
    check: 'writable',
    judge: ({ readOnly }) =>
      readOnly
        ? problem(
            'The server is a standby, or refuses writes: nothing can be sent or delivered.',
            'Point database.url at the primary.',
          )
        : fine('The server takes writes.'),
  },
  {
    check: 'fsync',
    judge: ({ fsync }) =>
      fsync === 'on'
        ? fine('Commits reach the disk.')
        : problem(
            'fsync is off: a crash of the machine loses messages and may destroy the database.',
            mending.set('fsync', 'on'),
          ),
  },
  {
    check: 'full_page_writes',
    judge: ({ fullPageWrites }) =>
      fullPageWrites === 'on'
        ? fine('A page that is torn by a crash is repaired.')
        : problem(
            'full_page_writes is off: a crash of the machine may destroy pages, and so messages.',
            mending.set('full_page_writes', 'on'),
          ),
  },
  { check: 'synchronous_commit', judge: judgeSynchronousCommit },
  {
    check: 'wal_writer_delay',
    judge({ walWriterDelayMs }) {
      const seconds = (writerRounds * walWriterDelayMs) / 1_000;
      const repeats = `a crash of the server repeats up to ${Number(seconds.toFixed(1))} s of what lanes that keep up have sent`;
      return walWriterDelayMs <= slowWriterMs
        ? fine(`The WAL is written soon: ${repeats}.`)
        : warning(`wal_writer_delay is long: ${repeats}.`, mending.set('wal_writer_delay', `'200ms'`));
    },
  },
  {
    check: 'autovacuum',
    judge: ({ autovacuum }) =>
      autovacuum === 'on'
        ? fine('Dead rows are removed.')
        : problem(
            'autovacuum is off: tables grow, plans age, and in the end the server refuses writes.',
            mending.set('autovacuum', 'on'),
          ),
  },
];

function judgeSynchronousCommit(facts: ServerFacts) {
  const { asynchronousRoles, synchronousCommit, synchronousStandbys } = facts;
  if (synchronousCommit === 'off')
    return problem(
      'synchronous_commit is off: a crash loses the last commits, with their messages, although they were acknowledged.',
      `${mending.set('synchronous_commit', 'on')}; and the same for roles and databases that set it`,
    );
  if (asynchronousRoles.length > 0)
    return warning(
      `synchronous_commit is off for ${asynchronousRoles.join(', ')}: a crash loses their last commits.`,
      mending.resetAsynchronous,
    );
  if (synchronousCommit === 'local' && synchronousStandbys !== '')
    return warning(
      'synchronous_commit is local: a standby that takes over may lack the last commits.',
      mending.set('synchronous_commit', 'on'),
    );
  return fine(
    synchronousStandbys === ''
      ? 'Commits are acknowledged once they are durable here; they wait for no standby.'
      : `Commits are acknowledged once they are durable here and on a standby (${synchronousStandbys}).`,
  );
}
