import { Client } from '@temporalio/client';
import { identityOf } from '../../../core/chosen-id.ts';
import { connectTemporal } from '../client/connection.ts';
import { quietRuntime } from '../client/runtime.ts';
import { Encoder } from './encoder.ts';
import { inTime } from './in-time.ts';
import type { WorkflowMessage, WorkflowSettings } from './workflow-options.ts';

/** The sender shown in workflow histories. */
const identity = 'temporal-outbox';
/** `WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE` */
const rejectDuplicate = 3;
/** `WORKFLOW_ID_CONFLICT_POLICY_FAIL` and `…_USE_EXISTING` */
const failOnConflict = 1;
const useExisting = 2;

/** One connection to the Temporal server of the user's workflows. */
export interface WorkflowCalls {
  /** Starts or signals the workflow. Rejects with the error of Temporal's client, or an `EncodingFailure`. */
  deliver(workflowId: string, message: WorkflowMessage): Promise<void>;
  /** Rejects if the server does not answer or has no such namespace, or if the codecs encode nothing. */
  probe(): Promise<void>;
  /** Name and version of the server. */
  server(): Promise<string>;
  close(): Promise<void>;
}

/**
 * Connects. Calls go through the raw service client, because only there `requestId` can be the id of the message: Temporal
 * drops a repeated signal as long as the run that received it continues.
 *
 * @param callWithinMs time limit of one call, including retries by the client
 * @throws OutboxError as {@link connectTemporal}
 */
export async function connectCalls(settings: WorkflowSettings, callWithinMs: number): Promise<WorkflowCalls> {
  const { start, signal, dataConverter, target } = settings;
  quietRuntime();
  const { namespace } = target;
  const link = await connectTemporal(target);
  const client = new Client({
    connection: link.connection,
    namespace,
    ...(dataConverter !== undefined && { dataConverter }),
  });
  const service = client.workflowService;
  const encoder = new Encoder(client.options.loadedDataConverter, callWithinMs);
  // The deadline is that of one try; Temporal's client retries for ten seconds.
  const within = <Answer>(call: () => Promise<Answer>): Promise<Answer> =>
    inTime(
      link.connection.withDeadline(Date.now() + callWithinMs, call),
      callWithinMs,
      `no answer within ${callWithinMs} ms`,
    );

  return {
    async deliver(workflowId, message) {
      const requestId = identityOf(message);
      const input = await encoder.arguments({ ...message, id: requestId });
      const common = { namespace, identity, requestId };
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
        // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- its enums are in a package that is not needed otherwise
        await within(() => service.startWorkflowExecution(request));
      } else {
        const both = {
          ...begun,
          signalName: signal,
          signalInput: input,
          workflowIdConflictPolicy: useExisting,
        };
        // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- its enums are in a package that is not needed otherwise
        await within(() => service.signalWithStartWorkflowExecution(both));
      }
    },
    async probe() {
      await within(() => service.describeNamespace({ namespace }));
      await encoder.probe();
    },
    async server() {
      const { serverVersion } = await within(() => service.getSystemInfo({}));
      return `Temporal ${serverVersion}`;
    },
    close: () => link.close(),
  };
}
