// @module-tag apart
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import { startTemporal } from '../../../dev/servers/index.ts';
import { errorOf } from '../../../dev/servers/temporal/temporal.ts';
import { until } from '../../support/fixtures/until.ts';

test('a Temporal that answers with errors is restarted, and one that is stopped or frozen is left alone', {
  tags: ['own-servers-per-project'],
}, async (context) => {
  const told: string[] = [];
  const server = await startTemporal({
    env: { ...process.env, TEMPORAL_ADDRESS: '' },
    progress: (line) => told.push(line),
  });
  context.onTestFinished(() => server.stop());
  const { node, address } = server;
  if (node === undefined) throw new Error('This test breaks the server, so it has to be one of its own.');
  expect(await errorOf(address, 'default')).toBeUndefined();
  expect(await errorOf(address, 'none')).toContain('none');
  process.kill(node.pid ?? 0, 'SIGSTOP');
  expect(await errorOf(address, 'default')).toBeUndefined();
  process.kill(node.pid ?? 0, 'SIGCONT');
  await node.stop('SIGKILL');
  expect(await errorOf(address, 'default')).toBeUndefined();
  await node.start();
  const { pid } = node;

  const connection = await Connection.connect({ address });
  context.onTestFinished(() => connection.close());
  // Its namespace is what every call asks for, and a start makes it.
  await connection.operatorService.deleteNamespace({ namespace: 'default' });

  await until(() => told.includes('Temporal: answers again'), 120_000);
  expect(told.filter((line) => line.includes('is restarted'))).toEqual([
    expect.stringMatching(/answers every call with ".+" and is restarted \(1 of 3\)$/),
  ]);
  expect(node.pid).not.toBe(pid);
  expect(await errorOf(address, 'default')).toBeUndefined();
});

test('an interrupted query of its database is an answer of Temporal, although it has the code of a server that is away', async (context) => {
  const bytes = (value: Buffer): Buffer => value;
  const server = new Server();
  context.onTestFinished(() => server.forceShutdown());
  server.addService(
    {
      describeNamespace: {
        path: '/temporal.api.workflowservice.v1.WorkflowService/DescribeNamespace',
        requestStream: false,
        responseStream: false,
        requestSerialize: bytes,
        requestDeserialize: bytes,
        responseSerialize: bytes,
        responseDeserialize: bytes,
      },
    },
    {
      describeNamespace: (_call: unknown, answer: (error: object) => void) =>
        answer({ code: status.UNAVAILABLE, details: 'GetNamespace operation failed. Error interrupted (9)' }),
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });

  expect(await errorOf(`127.0.0.1:${port}`, 'default')).toBe(
    'GetNamespace operation failed. Error interrupted (9)',
  );
});
