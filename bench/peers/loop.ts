import pg from 'pg';
import type { Contender, ContenderInput } from '../contenders/protocol.ts';
import { connectSender, text } from './kafka.ts';

const perLook = 100;

/**
 * The loop of common articles: select a hundred rows that wait, for each of them send it and then update it. kafkajs and pg with
 * their defaults, one connection. No settings.
 */
export async function openLoop(input: ContenderInput): Promise<Contender> {
  const client = new pg.Client({ connectionString: input.databaseUrl });
  await client.connect();
  await client.query(`
    create schema if not exists bench;
    drop table if exists bench.t_msg;
    create table bench.t_msg (id bigint generated always as identity primary key, body text not null, key text not null,
      status integer not null default 0, fail_count integer not null default 0, next_retry timestamptz,
      created timestamptz not null default now(), updated timestamptz not null default now());
    create index on bench.t_msg (status, next_retry)`);
  const sender = await connectSender(input);
  let running: Promise<void> = Promise.resolve();
  const run = async (): Promise<void> => {
    for (;;) {
      const { rows } = await client.query<{ id: string; body: string; key: string }>(
        `select id, body, key from bench.t_msg where status = 0 order by id limit ${perLook}`,
      );
      if (rows.length === 0) return;
      for (const { body, id, key } of rows) {
        await sender.send([{ id, key, body, time: new Date().toISOString() }]);
        await client.query('update bench.t_msg set status = 1, updated = now() where id = $1', [id]);
      }
    }
  };
  return {
    async fill(count) {
      await client.query(
        `insert into bench.t_msg (body, key) select $2, 'key-' || (i % 1000) from generate_series(1, $1::integer) i`,
        [count, JSON.stringify({ text })],
      );
    },
    async start() {
      running = run();
      running.catch(() => undefined);
    },
    async stop() {
      await running;
      await sender.close();
      await client.end();
    },
  };
}
