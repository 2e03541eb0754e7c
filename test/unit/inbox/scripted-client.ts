import type { TransactionClient } from '../../../src/inbox/transaction-client.ts';
import type { Sql } from '../../../src/store/database/database.ts';
import { sqlOf, type Transaction } from '../../../src/store/database/transaction.ts';

/** Rows for a statement, from its values. It may throw. */
type Answer = (values: readonly unknown[]) => readonly unknown[];

/** What a transaction was asked for, and the statements in it. */
interface Asked {
  readonly options: unknown;
  readonly statements: { readonly text: string; readonly values: readonly unknown[] }[];
  committed: boolean;
}

/**
 * The client of a consumer, which answers by a script, for the decisions of the code around statements: what these do is tested on a real one.
 * A statement without an answer returns no rows.
 */
export class ScriptedClient {
  readonly transactions: Asked[] = [];
  readonly #answers = new Map<string, Answer>();

  /** @param words a part of the statement; of several that fit, the answer given last counts */
  on(words: string, answer: Answer): this {
    this.#answers.delete(words);
    this.#answers.set(words, answer);
    return this;
  }

  readonly client: TransactionClient<Transaction> = {
    $transaction: async (work, options) => {
      const asked: Asked = { options, statements: [], committed: false };
      this.transactions.push(asked);
      const result = await work(this.#tx(asked));
      asked.committed = true;
      return result;
    },
  };

  readonly ask = <Result>(question: (sql: Sql) => Promise<Result>): Promise<Result> =>
    this.client.$transaction((tx) => question(sqlOf(tx)));

  /** The values of all statements that contain these words. */
  said(words: string): readonly (readonly unknown[])[] {
    return this.transactions.flatMap(({ statements }) =>
      statements.filter(({ text }) => text.includes(words)).map(({ values }) => values),
    );
  }

  #tx({ statements }: Asked): Transaction {
    return {
      $queryRawUnsafe: async <Result>(text: string, ...values: unknown[]) => {
        statements.push({ text, values });
        const answer = [...this.#answers].findLast(([words]) => text.includes(words))?.[1];
        return (answer?.(values) ?? []) as unknown as Result;
      },
    };
  }
}
