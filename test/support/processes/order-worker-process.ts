import { type DoomedProcess, startDoomed } from './doomed-process.ts';

export interface OrderWorkerSettings {
  /** Of Temporal. */
  readonly address: string;
  /** Of the database, with a table `effect (n, consumer)`. */
  readonly url: string;
  readonly taskQueue: string;
  /** A file with the bundle of `order-workflow.ts`. */
  readonly codePath: string;
  /** Written with each of its effects. */
  readonly name: string;
  /** The commit, from 1, after which it kills itself. @defaultValue none */
  readonly dieAtCommit?: number;
}

/** Starts a user's worker as a child process. */
export function startOrderWorker(settings: OrderWorkerSettings): DoomedProcess {
  return startDoomed('order-worker-main', settings);
}
