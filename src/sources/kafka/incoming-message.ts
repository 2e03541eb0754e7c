import type { IHeaders, KafkaMessage } from 'kafkajs';
import type { IncomingMessage } from '../source.ts';

/** A record as the port knows it. */
export function incomingMessage(address: string, partition: number, record: KafkaMessage): IncomingMessage {
  return {
    address,
    partition,
    offset: record.offset,
    key: record.key === null ? null : record.key.toString(),
    body: record.value,
    headers: headersOf(record.headers),
    timestamp: new Date(Number(record.timestamp)),
  };
}

function headersOf(headers: IHeaders | undefined): Record<string, string> {
  const texts: Record<string, string> = {};
  if (headers === undefined) return texts;
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    const last = Array.isArray(value) ? value.at(-1) : value;
    if (last !== undefined) texts[name] = last.toString();
  }
  return texts;
}
