import { expect, test } from 'vitest';
import { prisma8 } from '../../../src/store/database/prisma8.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { refusedBy } from '../../support/fixtures/scripted-database.ts';

interface Plan {
  readonly ast: string;
  readonly sql: string;
  readonly params: readonly unknown[];
}

/** A client of Prisma 8 that notes its statements, for the decisions around them: test/package runs them on a real one. */
function scripted(answer: (plan: Plan) => readonly unknown[] = () => []) {
  const said: string[] = [];
  const queryable = {
    query: async (plan: Plan) => {
      said.push([plan.ast, plan.sql, ...plan.params].join(' '));
      return answer(plan);
    },
  };
  const world = { begins: Promise.resolve() };
  const db = {
    raw: {
      sql: (text: TemplateStringsArray) => ({
        affectedCount: () => ({ build: () => ({ ast: 'raw', sql: text }) }),
      }),
    },
    runtime: () => queryable,
    async transaction<Result>(
      work: (tx: typeof queryable & { own: string }) => PromiseLike<Result>,
    ): Promise<Result> {
      await world.begins;
      said.push('begin');
      const ends = await work({ ...queryable, own: 'models' }).then(
        (result) => () => result,
        (error: unknown) => () => {
          throw error;
        },
      );
      said.push('end');
      return ends();
    },
  };
  return { client: prisma8(db), said, world };
}

test('statements are plans of Prisma with the text and the values, in its transaction and outside', async () => {
  const { client, said } = scripted(() => [{ n: 1 }]);

  const answers = await client.$transaction(
    async (tx) => [tx.own, await tx.$queryRawUnsafe('select $1', 7)],
    {
      isolationLevel: 'RepeatableRead',
    },
  );
  await client.$connect();
  answers.push(await client.$queryRawUnsafe('select $1', 8));

  expect(answers).toEqual(['models', [{ n: 1 }], [{ n: 1 }]]);
  expect(said).toEqual([
    'begin',
    'raw set transaction isolation level repeatable read',
    'raw select $1 7',
    'raw select 1',
    'end',
    'raw select 1',
    'raw select $1 8',
  ]);
});

test('a level that there is not is refused before anything begins', async () => {
  const { client, said } = scripted();
  const refused = client.$transaction(async () => 1, { isolationLevel: 'Loose' as never });
  await expect(refused).rejects.toMatchObject({ code: 'OUTBOX_OPTION_INVALID' });
  expect(said).toEqual([]);
});

test('a transaction in which a statement failed rejects, although its work resolves', {
  tags: ['pool-keeps-promises'],
}, async () => {
  let failed = false;
  const { client } = scripted(({ sql }) => {
    if (failed) throw Object.assign(new Error('Prisma wraps it'), { cause: refusedBy('25P02') });
    failed = sql === 'wrong';
    if (failed) throw refusedBy('42601');
    return [];
  });

  const work = client.$transaction(async (tx) => {
    await tx.$queryRawUnsafe('wrong').then(undefined, () => undefined);
  });

  await expect(work).rejects.toMatchObject({ code: 'OUTBOX_TRANSACTION_ROLLED_BACK' });
});

test('a transaction that begins after its caller has given it up does no work', async () => {
  const { client, said, world } = scripted();
  const begins = gate();
  world.begins = begins.opened;
  let worked = false;

  const work = client.$transaction(async () => void (worked = true), { maxWait: 1 });

  await expect(work).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
  begins.open();
  await expect.poll(() => said).toEqual(['begin', 'end']);
  expect(worked).toBe(false);
});

test('work that takes too long is rolled back, and what it does later rejects nothing', async () => {
  const { client, said } = scripted();
  const lasts = gate();

  const work = client.$transaction(() => lasts.opened.then(() => Promise.reject(new Error('late'))), {
    timeout: 1,
  });

  await expect(work).rejects.toMatchObject({
    code: 'OUTBOX_TRANSACTION_ROLLED_BACK',
    details: { limitMs: 1 },
  });
  lasts.open();
  expect(said).toEqual(['begin', 'end']);
});
