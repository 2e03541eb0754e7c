export { deliverLane } from './deliver-lane.ts';
export { deliverMessage, type DeliverMessageInput, type DeliverMessageResult } from './deliver-message.ts';
