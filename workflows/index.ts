export { archive } from './archive.ts';
export { type BulkOperationResult, bulkOperation } from './bulk-operation.ts';
export { deliverLane } from './deliver-lane.ts';
export { type DeliverMessageInput, type DeliverMessageResult, deliverMessage } from './deliver-message.ts';
export { type DrainParkedKeyInput, type DrainParkedKeyResult, drainParkedKey } from './drain-parked-key.ts';
export { reconcile } from './reconcile.ts';
export { whichDatabase } from './which-database.ts';
