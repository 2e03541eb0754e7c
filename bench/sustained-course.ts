import type { Database } from '../src/store/database/database.ts';
import { percentiles } from './contenders/serve.ts';

export interface Counts {
  readonly stored: number;
  readonly delivered: number;
}

/** A part of a long run. */
export interface Stretch {
  /** Delivered per second. */
  readonly rate: number;
  /** From storing to the acknowledgment of the first message of a batch, of which one per second and lane is looked at. */
  readonly delayP99Ms: number;
  /** The most that the database and the process of the relay had at the end of a second. */
  readonly databaseMb: number;
  readonly memoryMb: number;
}

interface Sample {
  readonly rate: number;
  readonly delaysMs: readonly number[];
  readonly databaseMb: number;
  readonly memoryMb: number;
}

/** What a long run looked like, second by second. */
export class Course {
  readonly #database: Database;
  readonly #samples: Sample[] = [];
  #last: Counts;
  #lastAt = performance.now();

  constructor(database: Database, start: Counts) {
    this.#database = database;
    this.#last = start;
  }

  /** Looks at the second that has passed. @returns what it was like */
  async note(): Promise<string> {
    const now = await readCounts(this.#database);
    const at = performance.now();
    const rate = ((now.delivered - this.#last.delivered) * 1_000) / (at - this.#lastAt);
    this.#last = now;
    this.#lastAt = at;
    const sample = {
      rate,
      ...(await readSizes(this.#database)),
      memoryMb: Math.round(process.memoryUsage().rss / 1e6),
    };
    this.#samples.push(sample);
    return `${Math.round(rate)}/s delivered, database ${sample.databaseMb} MB, relay ${sample.memoryMb} MB`;
  }

  since(start: Counts): Counts {
    return {
      stored: this.#last.stored - start.stored,
      delivered: this.#last.delivered - start.delivered,
    };
  }

  first(seconds: number): Stretch {
    return stretchOf(this.#samples.slice(0, Math.ceil(seconds)));
  }

  last(seconds: number): Stretch {
    return stretchOf(this.#samples.slice(-Math.ceil(seconds)));
  }
}

/** Positions are the messages that were stored; cursors have been delivered. */
export async function readCounts(database: Database): Promise<Counts> {
  const [row] = await database.query<Counts>(
    `select (select last_value from outbox.message_position)::float8 as stored,
       (select coalesce(max(cursor), 0) from outbox.lane)::float8 as delivered`,
  );
  return row ?? { stored: 0, delivered: 0 };
}

/** The delays of the newest batch of each lane, unless its leaf has been passed already; and the size of the database. */
async function readSizes(database: Database): Promise<Pick<Sample, 'delaysMs' | 'databaseMb'>> {
  const [row] = await database.query<{ delays: readonly number[] | null; mb: number }>(
    `select (pg_database_size(current_database()) / 1e6)::integer as mb, (
       select array_agg(extract(epoch from b.published_at - m.created_at) * 1000)::float8[]
       from outbox.lane l cross join lateral (
         select * from outbox.batch b where b.topic = l.topic and b.lane = l.n order by b.last_position desc limit 1) b
       join outbox.log m on m.topic = b.topic and m.lane = b.lane and m.state = 'ready' and m.position > 0
         and m.position = b.first_position) as delays`,
  );
  return { delaysMs: row?.delays ?? [], databaseMb: row?.mb ?? 0 };
}

function stretchOf(samples: readonly Sample[]): Stretch {
  const most = (of: (sample: Sample) => number) => Math.max(...samples.map(of));
  return {
    rate: Math.round(samples.reduce((sum, { rate }) => sum + rate, 0) / samples.length),
    delayP99Ms: percentiles(samples.flatMap(({ delaysMs }) => delaysMs)).p99,
    databaseMb: most(({ databaseMb }) => databaseMb),
    memoryMb: most(({ memoryMb }) => memoryMb),
  };
}
