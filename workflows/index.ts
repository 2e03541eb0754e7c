export { archive } from './archive.ts';
export { bulkOperation, type BulkOperationResult } from './bulk-operation.ts';
export { deliverLane } from './deliver-lane.ts';
export { deliverMessage, type DeliverMessageInput, type DeliverMessageResult } from './deliver-message.ts';
export { handleMessage, type HandleMessageInput, type HandleMessageResult } from './handle-message.ts';
export { reconcile } from './reconcile.ts';
export { whichDatabase } from './which-database.ts';
