/** The result of one message of a page. */
export interface PageAnswer {
  readonly id: string;
  readonly result: string;
  readonly topic: string | null;
  /** Set for a message of the outbox, whose lane may have work now. */
  readonly lane?: number | null;
}
