import type { Author } from '../audit/audit.ts';
import type { Database } from '../database/database.ts';
import { resumeOwn } from '../lane/pause.ts';

/**
 * Resumes the topics that a bulk withdrawal paused and did not resume because its process died, unless an operator has paused
 * them since.
 */
export async function resumeLeftPauses(
  database: Database,
  bulkId: string,
  author: Author,
): Promise<readonly string[]> {
  const left = await database.query<{ readonly topic: string; readonly auditId: string }>(
    `select p.topic, p.id as "auditId" from outbox.audit p
     where p.bulk_id = (select b.id from outbox.bulk_operation b where b.id = $1 and b.action = 'withdraw')
       and p.action = 'pause' and p.message_id is null and not exists (
       select from outbox.audit r where r.bulk_id = $1 and r.message_id is null and r.action = 'resume'
         and r.details ->> 'pause' = p.id::text)
     order by p.id`,
    [bulkId],
  );
  for (const { topic, auditId } of left) await resumeOwn(database, topic, auditId, { ...author, bulkId });
  return left.map(({ topic }) => topic);
}
