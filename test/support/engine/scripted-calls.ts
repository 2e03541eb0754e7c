import { until } from '../fixtures/until.ts';

/** A call of an activity, which the test answers. */
export interface ScriptedCall {
  readonly id: string;
  readonly atMs: number;
  readonly signal: AbortSignal;
}

type Answering<Answer> = (call: ScriptedCall) => Answer | Promise<Answer>;

/** An activity whose answers a test has planned, by the id that it is called with. */
export class ScriptedCalls<Answer> {
  readonly all: ScriptedCall[] = [];
  readonly #answers = new Map<string, Answering<Answer>[]>();

  /** Plans the answers of the next calls with this id; the last one is given again. */
  plan(id: string, ...answers: readonly Answering<Answer>[]): void {
    this.#answers.set(id, [...answers]);
  }

  readonly answer = async (id: string, signal: AbortSignal): Promise<Answer> => {
    const call = { id, signal, atMs: performance.now() };
    this.all.push(call);
    const answers = this.#answers.get(id) ?? [];
    const next = answers.length > 1 ? answers.shift() : answers[0];
    if (next === undefined) throw new Error(`No answer is planned for ${id}.`);
    return next(call);
  };

  of(id: string): readonly ScriptedCall[] {
    return this.all.filter((call) => call.id === id);
  }

  /** Waits until there are as many calls. */
  untilCalls(id: string, count: number): Promise<void> {
    return until(() => this.of(id).length >= count, 60_000);
  }
}

/** The answer of an activity that fails. */
export function away(): never {
  throw new Error('the database is away');
}

/** Resolves when the run of the call is ended. */
export function untilEnded({ signal }: ScriptedCall): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
