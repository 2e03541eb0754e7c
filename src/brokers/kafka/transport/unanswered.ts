/** A request whose answer will not be seen. */
export class Unanswered extends Error {
  /** Whether any of it was given to the socket: from then on it may have been carried out. */
  readonly written: boolean;

  constructor(message: string, { written, cause }: { readonly written: boolean; readonly cause?: unknown }) {
    super(message, { cause });
    this.name = 'Unanswered';
    this.written = written;
  }
}
