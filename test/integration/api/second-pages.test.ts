import type { Command } from 'commander';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { operationTable } from '../../../src/api/table/table.ts';
import { keptListCommand, type ListFlags, listCommand } from '../../../src/cli/list-command.ts';
import type { Output } from '../../../src/cli/output.ts';
import { commandTree } from '../../../src/cli/run-program.ts';
import { optionTexts } from '../../../src/operations/descriptions.ts';
import { counterparts } from '../../support/cli/counterparts.ts';
import { failAll } from '../../support/fixtures/operator.ts';
import { type ApiBench, openApi } from './api-bench.ts';

interface Page {
  readonly messages: readonly { readonly id: string; readonly position: string }[];
  readonly next: string | null;
}

/** A list that is read in pages, and what its rows are in. */
interface Paged {
  readonly operation: string;
  readonly path: string;
  /** Finds all rows. */
  readonly filter: Readonly<Record<string, string>>;
  readonly table: string;
  readonly idColumn: string;
  /** Adds a row for each label, each newer than those before. */
  add(bench: ApiBench, labels: readonly string[]): Promise<void>;
  readonly command: (flags: ListFlags, output: Output) => Promise<number>;
}

const outbox = {
  operation: 'listMessages',
  path: '/messages',
  table: 'outbox.message',
  idColumn: 'id',
  async add({ lane }, labels) {
    await failAll(lane, labels);
    await lane.database.query(`update outbox.message set ref = 'r' where ref is null`);
  },
  command: listCommand,
} as const satisfies Omit<Paged, 'filter'>;

/** By what they are asked for: each has a statement of its own. */
const lists: Readonly<Record<string, Paged>> = {
  'all messages': { ...outbox, filter: {} },
  'messages of a ref': { ...outbox, filter: { topic: 'orders', ref: 'r' } },
  'kept messages': {
    operation: 'listKept',
    path: '/kept',
    filter: {},
    table: 'outbox.parked',
    idColumn: 'message_id',
    async add({ lane }, labels) {
      for (const label of labels)
        await lane.database.query(
          `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, sent_at)
           values ($1, $2, 'failed', 'orders', 'orders', 0, '0', '{}', now())`,
          [`group ${label.length % 2}`, label],
        );
    },
    command: keptListCommand,
  },
};

/** Both orders of upper and lower case, and what is not ASCII. */
const labels = ['a', 'B', 'ü', '_', 'aa', 'b', 'Z', 'zz'];

let bench: ApiBench;
beforeAll(async () => {
  bench = await openApi();
});
afterAll(() => bench.drop());
beforeEach(() => bench.lane.database.query('delete from outbox.message; delete from outbox.parked'));

const doors = ['API', 'command'] as const;
const readBy: Readonly<
  Record<(typeof doors)[number], (list: Paged, limit: number, after?: string) => Promise<Page>>
> = {
  async API({ filter, path }, limit, after) {
    const query = new URLSearchParams({
      ...filter,
      limit: `${limit}`,
      ...(after !== undefined && { after }),
    });
    const { body } = await bench.get(`${path}?${query.toString()}`);
    return body as unknown as Page;
  },
  async command({ command, filter }, limit, after) {
    let page: unknown;
    const output = { json: true, line: () => undefined, trouble: () => undefined };
    const which = { limit: `${limit}`, ...(after !== undefined && { after }) };
    await command(
      { database: bench.lane.url, ...filter, ...which },
      { ...output, value: (value) => void (page = value) },
    );
    return page as Page;
  },
};

/** Names of commands whose option `--after` takes the `next` of a page. */
function pagedIn(command: Command, path: readonly string[] = []): readonly string[] {
  const own = command.options.some(
    ({ description, long }) => long === '--after' && description === optionTexts.nextPage,
  );
  const nested = command.commands.flatMap((one) => pagedIn(one, [...path, one.name()]));
  return own ? [path.join(' '), ...nested] : nested;
}

test('these are all lists that are read in pages, by the API and by commands', () => {
  const known = new Set(Object.values(lists).map(({ operation }) => operation));
  const paged = operationTable.filter(({ query }) => 'after' in query);
  expect(new Set(paged.map(({ name }) => name))).toEqual(known);
  expect(new Set(pagedIn(commandTree([])).flatMap((path) => counterparts[path]))).toEqual(known);
});

const cases = Object.entries(lists).flatMap(([name, list]) =>
  doors.flatMap((door) => [1, 2].map((limit) => ({ name, list, door, limit }))),
);

test.each(cases)(
  'pages of $limit of $name by the $door tell each message of one position once, whatever changes between them',
  { tags: ['pages-show-each-once'] },
  async ({ door, limit, list }) => {
    const { database } = bench.lane;
    await list.add(bench, labels);
    // All but the newest and the oldest share a position, as an edited message and its copies do.
    await database.query('alter table outbox.parked alter position set generated by default');
    await database.query(
      `update ${list.table} set position = (select min(position) + 1 from ${list.table})
       where position not in (select min(position) from ${list.table} union select max(position) from ${list.table})`,
    );
    const rows = await database.query<{ id: string }>(
      `select ${list.idColumn}::text as id from ${list.table} order by position desc, ${list.idColumn}::text collate "C" desc`,
    );
    const seen: string[] = [];
    let after: string | undefined;
    for (let page = 0; page <= labels.length; page += 1) {
      const { messages, next } = await readBy[door](list, limit, after);
      seen.push(...messages.map(({ id }) => id));
      expect(messages.length).toBeLessThanOrEqual(limit);
      if (next === null) break;
      after = next;
      await list.add(bench, [`new ${page}`]);
      await database.query(`delete from ${list.table} where ${list.idColumn}::text = $1`, [seen.at(-1)]);
    }

    expect(seen).toEqual(rows.map(({ id }) => id));
  },
);
