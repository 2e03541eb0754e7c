import type { Operations } from '../config/operations.ts';

/**
 * What is wrong with the names that a filter uses, when nothing was found by it: a misspelt name must not look like good
 * news.
 */
export async function unknownNames(
  at: Operations,
  { topic, group }: { readonly topic?: string; readonly group?: string },
): Promise<string | undefined> {
  if (topic === undefined && group === undefined) return undefined;
  const { groups, lanes, topics } = await at.status();
  const known = [...topics.map(({ name }) => name), ...lanes.map((lane) => lane.topic)];
  if (group !== undefined && !groups.some((one) => one.group === group))
    return `No consumer group "${group}" was ever seen in this database${among(groups.map((one) => one.group))}.`;
  // What a consumer keeps may be of a topic that is sent from another database.
  if (topic !== undefined && group === undefined && !known.includes(topic))
    return `No topic "${topic}" is known in this database${among(known)}.`;
  return undefined;
}

function among(names: readonly string[]): string {
  const distinct = [...new Set(names)].toSorted();
  if (distinct.length === 0) return '';
  return ` (there are ${distinct.slice(0, 5).join(', ')}${distinct.length > 5 ? ', …' : ''})`;
}
