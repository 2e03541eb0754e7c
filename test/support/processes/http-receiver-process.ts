import { onTestFinished } from 'vitest';
import type { HttpReceiverSettings } from './http-receiver-main.ts';
import { type Program, startProgram } from './program.ts';

/** Starts a web server in a process of its own, and waits until it listens; it ends with the test. */
export async function startHttpReceiver(settings: HttpReceiverSettings): Promise<Program> {
  const receiver = startProgram('http-receiver-main', settings);
  onTestFinished(() => receiver.kill());
  await receiver.firstLine;
  return receiver;
}
