import { Client } from '@temporalio/client';
import { connectTemporal } from '../../temporal/connection.ts';
import { quietRuntime } from '../../temporal/runtime.ts';
import type { WorkflowMessage, WorkflowSettings } from './workflow-options.ts';

/** For one call, repetitions by the client included. */
const callWithinMs = 5_000;
/** Shown as the sender in the histories of workflows. */
const identity = 'temporal-outbox';
/** `WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE` */
const rejectDuplicate = 3;
/** `WORKFLOW_ID_CONFLICT_POLICY_FAIL` and `…_USE_EXISTING` */
const failOnConflict = 1;
const useExisting = 2;

/** One connection to the Temporal of the user's workflows. */
export interface WorkflowCalls {
  /** Starts or signals. Rejects with what Temporal answered. */
  deliver(workflowId: string, message: WorkflowMessage): Promise<void>;
  /** Rejects when the server does not answer, or has no such namespace. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects. Calls are made by the plain interface of the service, because only there a call can have the id of its message:
 * Temporal itself drops a signal that it has, as long as the run that got it goes on.
 *
 * @throws OutboxError as {@link connectTemporal}
 */
export async function connectCalls(settings: WorkflowSettings): Promise<WorkflowCalls> {
  const { start, signal, dataConverter, target } = settings;
  quietRuntime();
  const { namespace } = target;
  const link = await connectTemporal(target);
  const client = new Client({
    connection: link.connection,
    namespace,
    ...(dataConverter !== undefined && { dataConverter }),
  });
  const { payloadConverter, payloadCodecs } = client.options.loadedDataConverter;
  const service = client.workflowService;
  const encoded = async ({ id, payload, key, headers }: WorkflowMessage) => {
    let payloads = [id, payload, { key, headers }].map((value) => payloadConverter.toPayload(value));
    for (const codec of payloadCodecs) payloads = await codec.encode(payloads);
    return { payloads };
  };
  const within = <Answer>(call: () => Promise<Answer>): Promise<Answer> =>
    link.connection.withDeadline(Date.now() + callWithinMs, call);

  return {
    async deliver(workflowId, message) {
      const input = await encoded(message);
      const common = { namespace, identity, requestId: message.id };
      if (start === undefined) {
        const request = { ...common, workflowExecution: { workflowId }, signalName: signal ?? '', input };
        await within(() => service.signalWorkflowExecution(request));
        return;
      }
      const begun = {
        ...common,
        workflowId,
        workflowType: { name: start.type },
        taskQueue: { name: start.taskQueue },
        input,
        workflowIdReusePolicy: rejectDuplicate,
      };
      if (signal === undefined) {
        const request = { ...begun, workflowIdConflictPolicy: failOnConflict };
        // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- its enums are of a package that nobody else needs
        await within(() => service.startWorkflowExecution(request));
      } else {
        const both = {
          ...begun,
          signalName: signal,
          signalInput: input,
          workflowIdConflictPolicy: useExisting,
        };
        // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- its enums are of a package that nobody else needs
        await within(() => service.signalWithStartWorkflowExecution(both));
      }
    },
    async probe() {
      await within(() => service.describeNamespace({ namespace }));
    },
    close: () => link.close(),
  };
}
