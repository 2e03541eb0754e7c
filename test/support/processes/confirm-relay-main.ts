import { startTimedRelay } from '../../../src/app/relay/start-relay.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { type BrokerAt, confirmConfig, confirmingTopic, hurried } from '../fixtures/confirm-config.ts';
import type { Crash } from './program.ts';

/** A relay that kills itself at the n-th pass of a crash point. */
export interface ConfirmRelaySettings {
  readonly url: string;
  readonly temporalAddress: string;
  readonly broker: BrokerAt;
  readonly address: string;
  readonly group: string;
  readonly crash: Crash;
}

const settings = JSON.parse(process.argv[2] ?? '') as ConfirmRelaySettings;
const { address, broker, crash, group, temporalAddress, url } = settings;

crashAt(crash.point, { pass: crash.pass });
const topic = confirmingTopic(address, { group, receiptTimeout: '1h' });
await startTimedRelay(confirmConfig(url, temporalAddress, broker, topic), {}, hurried).ready;
