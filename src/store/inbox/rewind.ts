import { type Author, writeAudit } from '../audit/audit.ts';
import type { Database } from '../database/database.ts';

/** What the audit has of a rewind: offsets are whole numbers as strings. */
export interface RewoundGroup {
  readonly author: Author;
  readonly group: string;
  readonly to: Date;
}

interface Rewound {
  readonly address: string;
  readonly partitions: readonly {
    readonly partition: number;
    readonly before: string;
    readonly after: string;
  }[];
}

/** Sets a group back at its brokers, with an entry of the audit for each address: without them nothing counts as done. */
export async function rewindAudited<Result extends readonly Rewound[]>(
  database: Database,
  { author, group, to }: RewoundGroup,
  atBrokers: () => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (sql) => {
    // Brokers may take a minute for each address, and this transaction locks nothing.
    await sql.query(`set local idle_in_transaction_session_timeout = '30min'`);
    const rewound = await atBrokers();
    await writeAudit(
      sql,
      rewound.map(({ address, partitions }) => ({
        ...author,
        action: 'rewind',
        messageId: null,
        result: 'done',
        details: { group, address, to: to.toISOString(), partitions },
      })),
    );
    return rewound;
  });
}
