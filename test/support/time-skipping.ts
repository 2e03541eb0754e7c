import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { freePort } from '../../src/local/free-port.ts';
import { type Environment, timeSkippingServer } from '../../src/local/index.ts';
import { until } from './until.ts';

interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

/**
 * Starts a time-skipping server that ends with the test.
 *
 * Temporal's SDK gives a server five seconds to start, which is too little for Java on a busy machine. So it is started
 * before, and what the SDK starts only stands for it.
 */
export async function startTimeSkipping(
  { onTestFinished }: TestEnd,
  env: Environment = process.env,
): Promise<TestWorkflowEnvironment> {
  const port = await freePort();
  const server = spawn(await timeSkippingServer({ env }), [String(port)], { env, stdio: 'ignore' });
  const exited = once(server, 'exit');
  onTestFinished(async () => {
    server.kill('SIGKILL');
    await exited;
  });
  await until(() => listens(port), 120_000);
  // It is given the port, and sleeps for as many seconds.
  const standIn = { type: 'existing-path', path: '/bin/sleep' } as const;
  const environment = await TestWorkflowEnvironment.createTimeSkipping({
    server: { port, executable: standIn },
  });
  onTestFinished(() => environment.teardown());
  return environment;
}

/** Whether somebody takes connections at this port of this machine. */
async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } finally {
    socket.destroy();
  }
}
