import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { postgresMessage, refusingServer } from '../../support/faults/refusing-server.ts';

const letIn = Buffer.concat([postgresMessage('R', Buffer.alloc(4)), postgresMessage('Z', Buffer.from('I'))]);
const ended = postgresMessage('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mthe postmaster has ended\0\0'));

let uncaught: unknown[];
const note = (error: unknown): void => {
  uncaught.push(error);
};

beforeEach(() => {
  uncaught = [];
  process.on('uncaughtException', note);
});

afterEach(() => {
  process.off('uncaughtException', note);
});

test.for(['query', 'transaction'] as const)(
  'a server that ends a connection while accepting it fails the %s, not the process',
  async (how, context) => {
    const server = await refusingServer(context, Buffer.concat([letIn, ended]));
    const database = openDatabase({ url: `postgresql://nobody@${server.address}/none` });
    context.onTestFinished(() => database.close());
    const work =
      how === 'query' ? database.query('select 1') : database.transaction((sql) => sql.query('select 1'));
    await expect(work).rejects.toThrow(/terminated|ended|not queryable/);
    expect(uncaught).toEqual([]);
  },
);
