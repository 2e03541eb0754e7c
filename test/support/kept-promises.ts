import { createHash } from 'node:crypto';
import type { LogReader, LogRecord } from '../../src/core/delivery-log.ts';
import { verify } from '../../src/operations/verify/verify.ts';
import type { Database } from '../../src/store/database.ts';
import { readInstallation } from '../../src/store/installation.ts';
import { readTopicPolicies } from '../../src/store/queries/topic-policies.ts';
import { readJournal } from './journal.ts';

/**
 * What `temporal-outbox verify` finds broken, a journal being the log: empty when every promise was kept.
 *
 * @param journal where the journal is, when it is not in the database of the outbox
 */
export async function brokenPromises(
  database: Database,
  journal: Database = database,
): Promise<readonly string[]> {
  const policies = await readTopicPolicies(database);
  const topics = policies.map(({ name, address }) => ({ topic: name, address }));
  const reader = journalReader(journal, `/outbox/${await readInstallation(database)}`);
  const report = await verify(database, [{ reader, topics }]);
  return report.invariants
    .filter(({ ok }) => !ok)
    .map(({ invariant, violations, first }) => `${invariant}, ${violations} times: ${JSON.stringify(first)}`);
}

/** Addresses are topics here, and each has one partition. */
function journalReader(journal: Database, source: string): LogReader {
  return {
    async open(addresses) {
      const entries = await readJournal(journal);
      const records = entries.map(
        ({ arrival, id, address, key, payload, atMs }): LogRecord => ({
          address,
          partition: 0,
          offset: String(arrival),
          at: new Date(atMs),
          id,
          source,
          type: address,
          key,
          payloadHash: createHash('sha256').update(payload).digest('hex'),
        }),
      );
      const to = String((entries.at(-1)?.arrival ?? 0) + 1);
      return {
        ranges: addresses.map((address) => ({ address, partition: 0, from: '1', to, truncated: false })),
        async *records() {
          yield records;
        },
      };
    },
  };
}
