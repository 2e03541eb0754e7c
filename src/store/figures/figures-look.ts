import type { Sql } from '../database/database.ts';
import type { Figures, NotedFigures } from './figures.ts';

/**
 * Begins a reading for all relays, if the last one of any relay is long enough ago on the server's clock.
 *
 * @returns its number; `undefined`: it is not time yet
 */
export async function beginFiguresLook(sql: Sql, everyMs: number): Promise<string | undefined> {
  const [begun] = await sql.query<{ number: string }>(
    `insert into outbox.figures as f (number, began_at) values (1, clock_timestamp())
     on conflict (only_one) do update set number = f.number + 1, began_at = clock_timestamp()
       where not outbox.lately(f.began_at, $1::float8)
     returning f.number::text`,
    [everyMs],
  );
  return begun?.number;
}

/**
 * Notes what a reading has found.
 *
 * @returns false if a later one is noted: its figures are newer. One that has merely begun does not count: where a
 * reading takes longer than the interval, nothing would ever be noted.
 */
export async function noteFigures(sql: Sql, number: string, figures: Figures): Promise<boolean> {
  const noted = await sql.query(
    `update outbox.figures set figures = $2::jsonb, noted = $1::bigint, noted_at = clock_timestamp()
     where noted is null or noted < $1::bigint returning number`,
    [number, JSON.stringify(figures)],
  );
  return noted.length > 0;
}

/**
 * What was noted last, by any relay; `undefined`: nothing yet. What was noted in the future was noted before the clock was set back: nobody
 * knows how old it is, so it counts as old as it is ahead.
 */
export async function readFiguresNote(sql: Sql): Promise<NotedFigures | undefined> {
  const [note] = await sql.query<NotedFigures>(
    `select figures, noted::text as number, (abs(extract(epoch from clock_timestamp() - noted_at)) * 1000)::float8 as "agoMs"
     from outbox.figures where noted is not null`,
  );
  return note;
}
