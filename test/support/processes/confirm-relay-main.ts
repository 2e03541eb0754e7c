import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { confirmConfig, confirmingTopic } from '../fixtures/confirm-config.ts';
import type { ConfirmRelaySettings } from './confirm-relay-process.ts';

// A relay that kills itself at the n-th pass of a crash point; `confirm-relay-process.ts` starts it with its settings.
const settings = JSON.parse(process.argv[2] ?? '') as ConfirmRelaySettings;
const { address, broker, crash, group, temporalAddress, url } = settings;

crashAt(crash.point, { pass: crash.pass });
const topic = confirmingTopic(address, { group, receiptTimeout: '1h' });
await startRelay(confirmConfig(url, temporalAddress, broker, topic)).ready;
