import { randomUUID } from 'node:crypto';
import type { OutgoingMessage, Transport } from '../../brokers/transport.ts';
import { type Config, transportOf } from '../../config/config.ts';
import { OutboxError } from '../../core/errors.ts';
import { type Receipt, receiptsAddress, writeReceipt } from '../../core/receipt.ts';
import type { Topic } from '../../core/topic.ts';
import type { ReceiptSender } from '../../inbox/handling/receipts.ts';

/** Makes senders of receipts: they use the transport of the topic, and the address of receipts. */
export function receiptSendersOf(config: Pick<Config, 'transports'>): (topic: Topic) => ReceiptSender {
  return (topic) => receiptSender(transportOf(config, topic).transport);
}

function receiptSender(transport: Transport): ReceiptSender {
  let partitions: number | undefined;
  return {
    async send(receipts) {
      partitions ??= (await transport.partitionCount?.(receiptsAddress)) ?? 1;
      const { outcomes, hold } = await transport.publish({
        address: receiptsAddress,
        partitions,
        messages: receipts.map(outgoing),
        // Receipts are never given up: the transport's own time limits bound the call.
        signal: new AbortController().signal,
      });
      const unsent = outcomes.find(({ kind }) => kind !== 'acknowledged');
      if (unsent === undefined) return;
      // The topic may have been recreated with another number of partitions.
      partitions = undefined;
      const reason = hold?.reason ?? ('error' in unsent ? unsent.error : unsent.kind);
      throw new OutboxError(
        'OUTBOX_SERVER_UNAVAILABLE',
        `Receipts were not accepted at ${receiptsAddress}: ${reason}`,
      );
    },
    close: () => transport.close(),
  };
}

/** All receipts of a group go to one partition, so that a receipt never overtakes an earlier one. */
function outgoing(receipt: Receipt): OutgoingMessage {
  const id = randomUUID();
  return {
    id,
    key: receipt.group,
    payload: writeReceipt(receipt),
    headers: {
      ce_specversion: '1.0',
      ce_id: id,
      ce_source: '/outbox/inbox',
      ce_type: receiptsAddress,
      'content-type': 'application/json',
    },
  };
}
