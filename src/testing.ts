export type { CrashPoint } from './core/crash-point.ts';
export type { State } from './core/transitions.ts';
export {
  type ContractCase,
  type ContractFaults,
  type ContractSubject,
  type ReceivedMessage,
} from './testing/contract-subject.ts';
export { crashAt, type CrashOptions } from './testing/crash-at.ts';
export { type Sent, sentIn } from './testing/sent-in.ts';
export { transportContract } from './testing/transport-contract.ts';
export {
  type MemoryOptions,
  type MemoryRecord,
  type MemoryTransport,
  memoryTransport,
} from './transports/memory/memory-transport.ts';
