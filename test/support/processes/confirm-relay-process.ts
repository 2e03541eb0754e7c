import type { BrokerAt } from '../fixtures/confirm-config.ts';
import { type Crash, runDoomed } from './doomed-process.ts';

export interface ConfirmRelaySettings {
  readonly url: string;
  readonly temporalAddress: string;
  readonly broker: BrokerAt;
  readonly address: string;
  readonly group: string;
  readonly crash: Crash;
}

/** Runs a relay as a child process until it exits; returns the signal that ended it. */
export function runConfirmRelay(settings: ConfirmRelaySettings): Promise<NodeJS.Signals | null> {
  return runDoomed('confirm-relay-main', settings);
}
