import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';

const keys = {
  topic: defineSearchAttributeKey('OutboxTopic', 'KEYWORD'),
  key: defineSearchAttributeKey('OutboxKey', 'KEYWORD'),
  ref: defineSearchAttributeKey('OutboxRef', 'KEYWORD'),
};

/** What operators find workflows by. */
export interface Searchable {
  readonly topic: string;
  readonly key?: string | null;
  readonly ref?: string | null;
}

/** True when the namespace knows all of them as keywords. A start that names an unknown one fails. */
export async function hasSearchAttributes(client: Client, namespace: string): Promise<boolean> {
  const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace });
  const keyword = 2;
  return Object.values(keys).every(({ name }) => customAttributes?.[name] === keyword);
}

export function searchAttributePairs({ topic, key, ref }: Searchable): SearchAttributePair[] {
  return [
    { key: keys.topic, value: topic },
    ...(key == null ? [] : [{ key: keys.key, value: key }]),
    ...(ref == null ? [] : [{ key: keys.ref, value: ref }]),
  ];
}
