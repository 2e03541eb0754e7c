import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const keyword = 2;

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
  return Object.values(keys).every(({ name }) => Number(customAttributes?.[name]) === keyword);
}

export function searchAttributePairs({ topic, key, ref }: Searchable): SearchAttributePair[] {
  return [
    { key: keys.topic, value: topic },
    ...(typeof key !== 'string' ? [] : [{ key: keys.key, value: key }]),
    ...(typeof ref !== 'string' ? [] : [{ key: keys.ref, value: ref }]),
  ];
}
