/** How a schedule in Temporal differs from its row; `extra`: it has none. */
export type ScheduleDifference = 'missing' | 'different' | 'extra';
