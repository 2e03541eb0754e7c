import { Loop } from '../core/loop.ts';
import type { RelayReport } from '../relay/report.ts';
import type { Database } from '../store/database/database.ts';
import type { NotedFigures } from '../store/figures/figures.ts';
import { beginFiguresLook, noteFigures, readFiguresNote } from '../store/figures/figures-look.ts';
import { type FigureRules, readFigures } from '../store/figures/read-figures.ts';

/** How often the figures of the database are read, by one relay for all. */
export const figuresEveryMs = 15_000;

export interface FigureLooksInput {
  readonly database: Database;
  /** @defaultValue 15 s */
  readonly everyMs?: number;
  readonly rules?: FigureRules;
  readonly report: RelayReport;
  /** Called after every interval with what some relay noted last. */
  readonly seen: (noted: NotedFigures) => void | Promise<void>;
}

/**
 * Reads what only the database knows, once per interval: one relay of all reads, which one is decided anew each time, and every
 * relay sees the result.
 */
export class FigureLooks {
  readonly #input: FigureLooksInput;
  readonly #everyMs: number;
  readonly #looks = new Loop(async () => {
    await this.#look();
    return this.#everyMs;
  });

  constructor(input: FigureLooksInput) {
    this.#input = input;
    this.#everyMs = input.everyMs ?? figuresEveryMs;
  }

  start(): void {
    this.#looks.start();
  }

  /** Waits for the statement under way, and begins no other. Never rejects. */
  stop(): Promise<void> {
    return this.#looks.stop();
  }

  async #look(): Promise<void> {
    const { database, report, rules, seen } = this.#input;
    try {
      // A little less: the rest between two looks of the only relay must not miss it.
      const number = await beginFiguresLook(database, this.#everyMs * 0.9);
      if (number !== undefined) {
        const figures = await readFigures(this.#unlessStopped(), rules);
        await noteFigures(database, number, figures);
      }
      const noted = await readFiguresNote(database);
      if (noted !== undefined && !this.#looks.stopping.aborted) await seen(noted);
    } catch (error) {
      if (!this.#looks.stopping.aborted) report({ type: 'error', during: 'figures', error });
    }
  }

  /** The database for a reading: a dozen statements, between which it may be stopped. */
  #unlessStopped(): Pick<Database, 'query'> {
    return {
      query: (...statement) => {
        this.#looks.stopping.throwIfAborted();
        return this.#input.database.query(...statement);
      },
    };
  }
}
