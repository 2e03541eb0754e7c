/** A setup file for tests that share a process: fails at fake timers that a file before this one has left, and ends its spies. */
import { afterAll, beforeAll, vi } from 'vitest';

const name = Symbol.for('temporal-outbox.real-timers');
const known: object = Reflect.get(globalThis, name) ?? { setTimeout };
Reflect.set(globalThis, name, known);

beforeAll(() => {
  if (Reflect.get(known, 'setTimeout') !== setTimeout)
    throw new Error('A test file that ran before in this process has left fake timers.');
});

afterAll(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});
