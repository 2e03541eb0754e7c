import { writeAudit } from '../audit/audit.ts';
import type { Database } from '../database/database.ts';
import { cancelMessage, topicOf } from './write.ts';

/** Cancels a message on behalf of a person or tool, with its audit entry in the same transaction. */
export async function cancelAudited(
  database: Database,
  id: string,
  actor: string,
): Promise<'canceled' | 'too-late' | 'unknown'> {
  return database.transaction(async (sql) => {
    const topic = await topicOf(sql, id);
    if (topic === undefined) return 'unknown';
    const result = await cancelMessage(sql, topic, { id });
    await writeAudit(sql, [{ actor, action: 'cancel', messageId: id, topic, result }]);
    return result;
  });
}
