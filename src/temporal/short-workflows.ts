import type { WorkerOptions } from '@temporalio/worker';

/** Options of workers whose workflows have short histories. */
export const shortWorkflows: Pick<
  WorkerOptions,
  'maxCachedWorkflows' | 'maxConcurrentWorkflowTaskExecutions'
> = {
  // A cached workflow is bound to its worker's sticky queue: after a shutdown its next task would wait there for ten
  // seconds. Replaying a short history costs less than one such pause.
  maxCachedWorkflows: 0,
  // Their tasks time out after two seconds, and a busy server takes a tenth of one to accept an answer. At the
  // default of 40, half timed out and were repeated when 200 lanes started at once. Tasks that wait at the server have no
  // time limit.
  maxConcurrentWorkflowTaskExecutions: 8,
};
