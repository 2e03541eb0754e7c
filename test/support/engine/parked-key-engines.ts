import { inject, type TestContext } from 'vitest';
import type { HostedParkedKeys, ParkedKeysPlan } from '../../../src/inbox/consumer-plan.ts';
import { startParkedKeys } from '../../../src/temporal/parked-key/engine.ts';
import { quietTemporal } from '../fixtures/stage.ts';
import { InProcessParkedKeys } from './in-process-parked-keys.ts';

/** Adds a host to an engine. */
export type HostKeys = (plan: ParkedKeysPlan) => HostedParkedKeys;

/** What runs the workflows of a group's parked keys. */
export const parkedKeyEngines: Readonly<Record<string, (context: TestContext) => HostKeys>> = {
  Temporal() {
    quietTemporal();
    const temporal = { address: inject('temporalAddress'), namespace: 'default' };
    return (plan) => startParkedKeys({ ...plan, temporal, visible: () => true });
  },
  'this process'({ onTestFinished }) {
    const engine = new InProcessParkedKeys();
    onTestFinished(() => engine.stop());
    return (plan) => engine.host(plan);
  },
};
