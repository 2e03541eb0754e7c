import { NativeConnection } from '@temporalio/worker';
import { OutboxError } from '../core/errors.ts';

export interface TemporalAddress {
  /** `host:port` */
  readonly address: string;
  readonly namespace: string;
}

/**
 * Connects to Temporal, patiently: a relay that starts before its server waits for it.
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` when it does not answer within `withinMs`
 */
export async function connectTemporal(
  { address }: TemporalAddress,
  withinMs: number,
): Promise<NativeConnection> {
  const until = performance.now() + withinMs;
  for (;;) {
    try {
      return await NativeConnection.connect({ address, grpcCompression: { codec: 'none' } });
    } catch (cause) {
      if (performance.now() < until) continue;
      throw new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `Temporal does not answer at ${address}.`, {
        details: { address },
        cause,
      });
    }
  }
}
