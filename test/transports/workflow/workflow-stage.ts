import { Client } from '@temporalio/client';
import { inject, onTestFinished } from 'vitest';
import type { WorkflowOptions } from '../../../src/brokers/workflow/transport/workflow-options.ts';
import type { DeliveredMessage } from '../../../src/testing.ts';
import { workflow } from '../../../src/transports.ts';
import { connectTemporal } from '../../support/fixtures/temporal-connection.ts';

/** A client of the user's Temporal; the caller closes its connection. */
export async function ownClient(address = inject('ownTemporal')): Promise<Client> {
  return new Client({ connection: await connectTemporal(address) });
}

/** A transport to the user's Temporal that ends with the test. */
export function transportTo(options: WorkflowOptions) {
  const transport = workflow({ address: inject('ownTemporal'), ...options });
  onTestFinished(() => transport.close());
  return transport;
}

interface Carried {
  readonly payloads?: readonly { readonly data?: Uint8Array | null }[] | null;
}

/** What arguments carry: id, payload, key and headers. */
export function messageIn(input: Carried | null | undefined): DeliveredMessage {
  const [id, payload, context] = (input?.payloads ?? []).map(
    ({ data }) => JSON.parse(Buffer.from(data ?? []).toString()) as unknown,
  );
  const { key, headers } = context as Pick<DeliveredMessage, 'key' | 'headers'>;
  return { id: id as string, payload: JSON.stringify(payload), key, headers, partition: null, offset: null };
}

/** The signals of a workflow, in the order of its history; none where there is no such workflow. */
export async function signalsOf(client: Client, workflowId: string): Promise<readonly DeliveredMessage[]> {
  const history = await client.workflow
    .getHandle(workflowId)
    .fetchHistory()
    .catch(() => undefined);
  return (history?.events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signaled }) =>
    signaled === null || signaled === undefined ? [] : [messageIn(signaled.input)],
  );
}
