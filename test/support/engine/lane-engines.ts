import { randomUUID } from 'node:crypto';
import { inject, type TestContext } from 'vitest';
import type { BulkRunner } from '../../../src/bulk/bulk-runner.ts';
import type { WorkflowStarter } from '../../../src/relay/ports.ts';
import { connectEngine, type HostedParts } from '../../../src/temporal/relay/engine.ts';
import { quietTemporal } from '../fixtures/stage.ts';
import { InProcessLanes, type LaneParts } from './in-process-lanes.ts';

/** An engine with one host. */
export interface LaneEngine {
  readonly installation: string;
  readonly starter: WorkflowStarter;
  /** Ends the host. */
  stop(): Promise<void>;
}

type OpenLanes = (context: TestContext, parts: LaneParts) => Promise<LaneEngine>;

/** What runs the workflows of a relay. */
export const laneEngines: Readonly<Record<string, OpenLanes>> = {
  async Temporal({ onTestFinished }, { relay, bulk }) {
    quietTemporal();
    const installation = randomUUID();
    const engine = await connectEngine(
      { address: inject('temporalAddress'), namespace: 'default' },
      undefined,
    );
    const hosted = await engine.host(partsOf(relay, bulk), installation, 1, () => undefined);
    const stop = async (): Promise<void> => hosted.stop();
    onTestFinished(async () => {
      await stop();
      await engine.close();
    });
    return { installation, starter: engine.starter(installation), stop };
  },
  async 'this process'({ onTestFinished }, parts) {
    const starter = new InProcessLanes();
    starter.host(parts);
    onTestFinished(() => starter.stop());
    return { installation: randomUUID(), starter, stop: () => starter.stop() };
  },
};

function partsOf(relay: LaneParts['relay'], bulk: BulkRunner): HostedParts {
  const unplanned = (): never => {
    throw new Error('No test of this contract has such a workflow.');
  };
  return {
    relay: { ...relay, knows: () => true, cancel: unplanned },
    maintenance: {
      bulk,
      archive: unplanned,
      reconcile: unplanned,
      answerPlace: unplanned,
      schedules: { write: unplanned },
    },
  };
}
