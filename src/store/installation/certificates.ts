import type { CertificateEnd } from '../../core/certificate-end.ts';
import type { Sql } from '../database/database.ts';
import { relayStaleMs } from './relays.ts';

/** A certificate that a relay has loaded, and how long it is still valid. */
export interface CertificateLeft extends Omit<CertificateEnd, 'until'> {
  /** Milliseconds until it expires; negative: it has expired. Of relays that have different ones, the first that expires. */
  readonly leftMs: number;
}

/** The certificates that living relays have loaded, the first that expires first. */
export async function readCertificates(sql: Sql): Promise<readonly CertificateLeft[]> {
  return sql.query<CertificateLeft>(
    `select c.server, c.whose, (extract(epoch from min(c.until) - outbox.clock()) * 1000)::float8 as "leftMs"
     from outbox.relay r cross join jsonb_to_recordset(r.certificates) as c (server text, whose text, until timestamptz)
     where r.seen_at > clock_timestamp() - $1 * interval '1 ms'
     group by c.server, c.whose order by 3, 1, 2 limit 1000`,
    [relayStaleMs],
  );
}
