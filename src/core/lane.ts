/** An ordered share of one topic. */
export interface Lane {
  /** Name of the topic. */
  readonly topic: string;
  /** 0 to the topic's number of lanes, exclusive. */
  readonly lane: number;
}

/** A topic has at most so many lanes. */
export const maxLanes = 1_024;

/** A lane as text, for maps and logs. */
export function laneName({ topic, lane }: Lane): string {
  return `${topic}/${lane}`;
}
