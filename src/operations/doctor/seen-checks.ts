import {
  counted,
  type Diagnosis,
  type DoctorCheck,
  fine,
  firstOf,
  problem,
  warning,
} from '../../core/diagnosis.ts';
import type { CertificateLeft } from '../../store/installation/certificates.ts';
import { lagsOf } from '../../store/installation/lags.ts';
import type { RelayStatus } from '../../store/installation/relays.ts';

/** What running relays see beyond the database, and who handles there. */
export interface SeenFacts {
  readonly relays: readonly Pick<RelayStatus, 'alive' | 'lags' | 'seenMs'>[];
  /** How many consumers of each group run. */
  readonly consumers: ReadonlyMap<string, number>;
  /** The first that expires first. */
  readonly certificates: readonly CertificateLeft[];
}

const dayMs = 24 * 3_600_000;
/** A certificate that ends within this time is to be renewed. */
const soonMs = 14 * dayMs;

/** Groups that nobody reads for, and certificates that end. */
export const seenChecks: readonly DoctorCheck<SeenFacts>[] = [
  {
    check: 'consumers',
    judge({ consumers, relays }) {
      const unread = lagsOf(relays.filter(({ alive }) => alive)).filter(({ messages }) => messages > 0);
      const idle = [...new Set(unread.map(({ group }) => group))].filter(
        (group) => (consumers.get(group) ?? 0) === 0,
      );
      if (idle.length === 0) return fine('No group for which messages wait is without a consumer.');
      return warning(
        `No consumer of ${firstOf(idle)} runs, and messages wait: none of them has an effect.`,
        'Start one; if it runs, its log says what it waits for.',
      );
    },
  },
  { check: 'certificates', judge: ({ certificates }) => judgeCertificates(certificates) },
];

function judgeCertificates(certificates: readonly CertificateLeft[]): Diagnosis | undefined {
  const [first] = certificates;
  if (first === undefined) return undefined;
  const whose = first.whose === 'client' ? 'that relays show' : 'of an authority for';
  const about = `The certificate ${whose} ${first.server}`;
  const next =
    first.whose === 'client'
      ? 'Renew the file, and restart relays and consumers one by one.'
      : 'Put that of its successor into the file, and restart relays and consumers one by one.';
  if (first.leftMs < 0) return problem(`${about} has expired: new connections are refused.`, next);
  const days = counted(Math.floor(first.leftMs / dayMs), 'day');
  return first.leftMs < soonMs
    ? warning(`${about} expires in ${days}: new connections are refused from then on.`, next)
    : fine(`The first one that relays have loaded expires in ${days}.`);
}
