import type { Client, WorkflowStartOptions } from '@temporalio/client';

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const keyword = 2;

const keys = {
  topic: { name: 'OutboxTopic', type: 'KEYWORD' },
  key: { name: 'OutboxKey', type: 'KEYWORD' },
  ref: { name: 'OutboxRef', type: 'KEYWORD' },
} as const;

/** The option of a start; its own type is in a package that is not a dependency. */
type SearchAttributePair = Extract<
  NonNullable<WorkflowStartOptions['typedSearchAttributes']>,
  readonly unknown[]
>[number];

/** Facts by which operators find workflows. */
export interface Searchable {
  readonly topic: string;
  readonly key?: string | null;
  readonly ref?: string | null;
}

/** True if the namespace has all of them as keywords. A start with an unknown one fails. */
export async function hasSearchAttributes(client: Client, namespace: string): Promise<boolean> {
  return (await missingSearchAttributes(client, namespace)).length === 0;
}

/** Those that the namespace does not have as keywords. */
export async function missingSearchAttributes(client: Client, namespace: string): Promise<readonly string[]> {
  const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace });
  const names = Object.values(keys).map(({ name }) => name);
  return names.filter((name) => Number(customAttributes?.[name]) !== keyword);
}

export function searchAttributePairs({ topic, key, ref }: Searchable): SearchAttributePair[] {
  return [
    { key: keys.topic, value: topic },
    ...(typeof key !== 'string' ? [] : [{ key: keys.key, value: key }]),
    ...(typeof ref !== 'string' ? [] : [{ key: keys.ref, value: ref }]),
  ];
}
