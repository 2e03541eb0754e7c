import { counted, type DoctorCheck, fine, firstOf, problem, warning } from '../../core/diagnosis.ts';
import { mending } from '../../store/doctor/mending.ts';
import type { OpenTransactionFacts, VacuumFacts } from '../../store/doctor/vacuum.ts';

/** What is normal for a database; tests have shorter times. */
export interface VacuumLimits {
  /** Transactions that are open for longer are reported. Milliseconds. */
  readonly transactionMs: number;
  /** Dead rows of a table below this number are not reported. */
  readonly deadRows: number;
}

export const normalVacuum: VacuumLimits = { transactionMs: 60_000, deadRows: 10_000 };

const hourMs = 3_600_000;
const mebibyte = 1024 * 1024;
/** A slot that keeps more of the log than this may fill the disk. */
const keptLimit = 10 * 1024 * mebibyte;
/** Of 2^31; autovacuum begins to freeze at 200 million by default. */
const frozen = { late: 500_000_000, alarming: 1_500_000_000 };

/** What keeps dead rows and old files from being removed, and what they have grown to. */
export function vacuumChecks(limits: VacuumLimits): readonly DoctorCheck<VacuumFacts>[] {
  return [
    { check: 'open transactions', judge: (facts) => judgeTransactions(facts, limits) },
    { check: 'prepared transactions', judge: (facts) => judgePrepared(facts, limits) },
    { check: 'replication slots', judge: judgeSlots },
    { check: 'transaction ids', judge: judgeFrozenAge },
    { check: 'dead rows', judge: (facts) => judgeTables(facts, limits) },
  ];
}

function judgeTransactions({ seesOthers, transactions }: VacuumFacts, { transactionMs }: VacuumLimits) {
  // They come oldest first.
  const oldest = transactions.find(({ openMs }) => openMs >= transactionMs);
  if (oldest !== undefined) {
    const judge = oldest.openMs >= hourMs ? problem : warning;
    return judge(
      `${nameOf(oldest)} has a transaction open for ${ageInWords(oldest.openMs)} (${oldest.state}). Until it ends, dead rows stay, and what commits beside it is not archived.`,
      mending.end(oldest.pid),
    );
  }
  if (!seesOthers)
    return warning(
      "This role does not see other roles' transactions, so neither this command nor status can name one that blocks.",
      mending.seeOthers,
    );
  return fine('No transaction is open for long.');
}

function nameOf({ application, pid, role }: OpenTransactionFacts): string {
  return `Process ${pid} of the server (${application === '' ? role : `${role}, ${application}`})`;
}

function judgePrepared({ prepared }: VacuumFacts, { transactionMs }: VacuumLimits) {
  const old = prepared.filter(({ openMs }) => openMs >= transactionMs);
  const [oldest] = old;
  if (oldest === undefined) return fine('None is forgotten.');
  return problem(
    `${counted(old.length, 'prepared transaction')}, the oldest for ${ageInWords(oldest.openMs)}: its locks and dead rows stay until somebody ends it, even over a restart.`,
    mending.rollBack(oldest.id),
  );
}

function judgeSlots({ slots }: VacuumFacts) {
  const lost = slots.find(({ walStatus }) => walStatus === 'unreserved' || walStatus === 'lost');
  const full = slots.find(({ keptBytes }) => keptBytes >= keptLimit);
  const idle = slots.find(({ active }) => !active);
  const worst = full ?? lost ?? idle;
  if (worst === undefined)
    return fine(slots.length === 0 ? 'There is none.' : `${counted(slots.length, 'slot')}, all in use.`);
  const kept = `${Math.ceil(worst.keptBytes / mebibyte)} MiB of the write-ahead log${worst.pinsRows ? ', and dead rows of all tables' : ''}`;
  const remove = mending.dropSlot(worst.name);
  if (worst === full) return problem(`The slot "${worst.name}" keeps ${kept}: it fills the disk.`, remove);
  if (worst === lost)
    return problem(`The slot "${worst.name}" has lost what its reader has not read.`, remove);
  return warning(`Nobody reads from the slot "${worst.name}", which keeps ${kept}.`, remove);
}

function judgeFrozenAge({ frozenAge }: VacuumFacts) {
  const millions = `${Math.round(frozenAge / 1_000_000)} million`;
  if (frozenAge < frozen.late) return fine(`The oldest is ${millions} old, of 2,147 million.`);
  const judge = frozenAge < frozen.alarming ? warning : problem;
  return judge(
    `The oldest transaction id is ${millions} old; at 2,147 million the server refuses writes.`,
    'End what keeps old row versions, see above, then: vacuumdb --freeze',
  );
}

function judgeTables({ tables }: VacuumFacts, { deadRows }: VacuumLimits) {
  const left = tables.filter(({ unattended }) => unattended).map(({ name }) => name);
  if (left.length > 0)
    return problem(
      `autovacuum is off for ${firstOf(left)}: what is dead there stays.`,
      mending.attend(left[0] ?? ''),
    );
  const bloated = tables.filter(({ dead, live }) => dead >= deadRows && dead > live);
  const [worst] = bloated;
  if (worst === undefined) return fine('No table of the outbox has more dead rows than live ones.');
  return warning(
    `${firstOf(bloated.map(({ dead, live, name }) => `${name} (${dead} dead, ${live} live)`))}: claims and looks read more pages than they need.`,
    mending.vacuum(worst.name),
  );
}

export function ageInWords(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  return ms < 2 * hourMs ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / hourMs)} h`;
}
