import type { Caller } from '../../../src/api/authentication.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { park } from '../../../src/store/inbox/park.ts';
import { noteArrivals } from '../../../src/store/inbox/receive.ts';
import { archiveOf } from '../../support/fixtures/archive-fixture.ts';
import { failAll, failHead } from '../../support/fixtures/operator.ts';
import { type ApiBench, adam } from './api-bench.ts';
import { fill, type World } from './samples.ts';

/** The consumer group that keeps messages. */
export const keeping = 'billing';

/**
 * Fills the database with messages in every state that a request can meet: waiting, ready, published, failed, blocked, edited,
 * expunged and archived ones; and of a group kept ones that are parked, queued, failed, edited and expunged.
 *
 * @param error what handlers and the broker say, where a test does not mind
 */
export async function fillWhole(bench: ApiBench, error = 'Error: no'): Promise<World> {
  const { lane, post } = bench;
  await lane.send('archived');
  await failAll(lane, ['discarded']);
  await post(`/messages/${lane.idOf('discarded')}/discard`);
  await lane.drain();
  const history = archiveOf(lane);
  await history.age('10 days');
  await history.archive({});
  const world = await fill(bench);
  await failAll(lane, ['expunged']);
  await post(`/messages/${lane.idOf('expunged')}/discard`);
  await post(`/messages/${lane.idOf('expunged')}/expunge`, { as: adam });
  await post(`/messages/${world.failed}/edit`, { body: { payload: 'corrected' } });
  await failHead(lane);
  await lane.send('ready');
  for (const [id, key, state] of [
    // Its id is also that of a message of the outbox: what a page of that message shows of its groups.
    [lane.idOf('expunged'), 'K', 'parked'],
    [lane.idOf('K1'), 'K', 'parked'],
    ['edited', null, 'failed'],
    ['erased', null, 'failed'],
    ['broken', 'B', 'failed'],
  ] as const)
    await keep(lane.database, { id, key, state, error });
  await post(`/groups/${keeping}/kept/edited/edit`, { body: { payload: 1 } });
  await post(`/groups/${keeping}/kept/discard`, { body: { ids: ['erased'] } });
  await post(`/groups/${keeping}/kept/expunge`, { as: adam, body: { ids: ['erased'] } });
  return world;
}

interface Kept {
  readonly id: string;
  readonly key: string | null;
  readonly state: 'failed' | 'parked';
  readonly error: string;
}

async function keep(database: Database, { error, id, key, state }: Kept): Promise<void> {
  const where = { topic: 'orders', address: 'orders', partition: 0, offset: '0', sentAt: new Date() };
  await database.transaction(async (sql) => {
    await noteArrivals(sql, keeping, [{ id, topic: where.topic, key }]);
    const wire = JSON.stringify({ key, headers: { ce_id: id } });
    const rest = {
      id,
      key,
      state,
      wire,
      error,
      blocksKey: false,
      attempts: 1,
      reason: 'error',
      body: Buffer.from('{"n":1}'),
    };
    await park(sql, keeping, [{ ...where, ...rest }], 3_600_000);
  });
}

/** The path of every GET of the table, once for each thing that it may be asked of. */
export async function everyRead(database: Database): Promise<readonly string[]> {
  const rows = await database.query<{ kind: string; id: string; group: string }>(
    `select 'messages' as kind, id::text, '' as "group" from outbox.message_all
     union all select 'kept', message_id, consumer_group from outbox.parked
     union all select 'bulk', id::text, '' from outbox.bulk_operation`,
  );
  return operationTable
    .filter(({ method }) => method === 'GET')
    .flatMap(({ path }) => {
      if (!path.includes('{')) return [path];
      const paths = rows
        .filter(({ kind }) => path.split('/').includes(kind))
        .map(({ group, id }) => path.replace('{group}', group).replace('{id}', id));
      if (paths.length === 0) throw new Error(`The world has nothing for ${path}.`);
      return paths;
    });
}

/** What a stream tells first: the status, or the messages that there are and its place. */
export async function firstEvents({ api }: ApiBench, path: string, as: Caller): Promise<string> {
  const stop = new AbortController();
  const response = await api(
    new Request(`http://api.test${path}`, {
      headers: { 'x-test': JSON.stringify(as) },
      signal: stop.signal,
    }),
  );
  let read = '';
  const decoder = new TextDecoder();
  const body: ReadableStream<Uint8Array> | null = response.body;
  for await (const chunk of body ?? []) {
    read += decoder.decode(chunk, { stream: true });
    if (read.includes('\nid: ') || read.includes('event: status')) break;
  }
  stop.abort();
  return read;
}
