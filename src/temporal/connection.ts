import { NativeConnection } from '@temporalio/worker';
import { OutboxError } from '../core/errors.ts';

export interface TemporalAddress {
  /** `host:port` */
  readonly address: string;
  readonly namespace: string;
}

/** @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` when it does not answer, and for an address that is none */
export async function connectTemporal({ address }: TemporalAddress): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect({ address, grpcCompression: { codec: 'none' } });
  } catch (cause) {
    const said = cause instanceof Error ? cause.message.replace(/\.$/, '') : String(cause);
    throw new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `Temporal does not answer at ${address}: ${said}.`, {
      details: { server: 'Temporal', address },
      cause,
    });
  }
}
