import type { Author } from '../audit/audit.ts';
import type { Database } from '../database/database.ts';
import { resumeEachOwn } from '../lane/pause.ts';

/**
 * Resumes the topics that a bulk withdrawal paused and did not resume because its process died, unless an operator has paused
 * them since.
 *
 * @param author on whose behalf; `undefined`: of who paused them, who started the operation
 */
export async function resumeLeftPauses(
  database: Database,
  bulkId: string,
  author: Author | undefined,
): Promise<void> {
  const left = await database.query<LeftPause>(
    `select p.topic, p.id as pause, p.actor, p.reason from outbox.audit p
     where p.bulk_id = (select b.id from outbox.bulk_operation b where b.id = $1 and b.action = 'withdraw')
       and p.action = 'pause' and p.message_id is null and not exists (
       select from outbox.audit r where r.bulk_id = $1 and r.message_id is null and r.action = 'resume'
         and r.details ->> 'pause' = p.id::text)
     order by p.id`,
    [bulkId],
  );
  await resumeEachOwn(
    database,
    left.map(({ topic, pause, actor, reason }) => ({
      topic,
      pause,
      author: { ...(author ?? { actor, reason }), bulkId },
    })),
  );
}

interface LeftPause {
  readonly topic: string;
  readonly pause: string;
  readonly actor: string;
  readonly reason: string;
}
