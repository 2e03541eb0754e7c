import { EventEmitter } from 'node:events';
import { nextTick } from 'node:process';
import { expect, test } from 'vitest';
import { CommitProof } from '../../../src/inbox/handling/swallowed-error.ts';

/** Promises between the answer to an operation and the client's event: more than Prisma has. */
const hops = 100;

async function tellLater(client: EventEmitter): Promise<void> {
  for (let n = 0; n < hops; n += 1) await Promise.resolve();
  await new Promise<void>((resolve) => nextTick(resolve));
  for (let n = 0; n < hops; n += 1) await Promise.resolve();
  client.emit('error');
}

function transactionOf(client: EventEmitter): object {
  return { _clientVersion: '7.10.0', _engineConfig: { logEmitter: client } };
}

test('a failure whose answer arrived with that of the commit is detected, however late it is emitted', async () => {
  const client = new EventEmitter();
  const proof = CommitProof.of(transactionOf(client));
  void tellLater(client);
  await expect(proof?.require(() => Promise.resolve(false))).rejects.toMatchObject({
    code: 'OUTBOX_TRANSACTION_ROLLED_BACK',
  });
});

test('the database is asked only if an operation of the client has failed during the transaction', async () => {
  const client = new EventEmitter();
  let asked = 0;
  const isStored = (): Promise<boolean> => {
    asked += 1;
    return Promise.resolve(true);
  };
  await CommitProof.of(transactionOf(client))?.require(isStored);
  expect(asked).toBe(0);

  const proof = CommitProof.of(transactionOf(client));
  client.emit('error');
  await proof?.require(isStored);
  expect(asked).toBe(1);
});
