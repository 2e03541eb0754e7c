import type { ContractCase } from './contract-subject.ts';
import { arrivalCases } from './source-arrival-cases.ts';
import type { SourceCase } from './source-case.ts';
import { SourceFixture } from './source-fixture.ts';
import { groupCases } from './source-group-cases.ts';
import { redeliveryCases } from './source-redelivery-cases.ts';
import type { SourceAbility, SourceContract, SourceSubject } from './source-subject.ts';

/**
 * The rules of {@link Source} as cases for any test runner.
 *
 * `make` is called once per case and gives fresh addresses each time. After each case everything that was offered is
 * held against what was sent: nothing empty, changed, foreign or out of order, no partition twice at once, no more side by
 * side than was asked for.
 *
 * @param abilities what the broker has; cases that need more are listed as skipped
 * @param patienceMs how long anything may take that a case waits for
 *
 * @example
 * ```ts
 * const { cases } = sourceContract(() => subject(), ['order', 'partitions', 'history', 'groups', 'empty-body']);
 * for (const { name, run } of cases) test(name, run);
 * ```
 */
export function sourceContract(
  make: () => Promise<SourceSubject>,
  abilities: readonly SourceAbility[],
  patienceMs = 30_000,
): SourceContract {
  const ordered = abilities.includes('order');
  const cases: ContractCase[] = [];
  const skipped: { readonly name: string; readonly missing: readonly SourceAbility[] }[] = [];
  for (const one of [...arrivalCases, ...redeliveryCases, ...groupCases]) {
    const missing = one.needs.filter((ability) => !abilities.includes(ability));
    if (missing.length > 0) skipped.push({ name: one.name, missing });
    else cases.push({ name: one.name, run: () => runCase(one, make, ordered, patienceMs) });
  }
  return { cases, skipped };
}

async function runCase(
  one: SourceCase,
  make: () => Promise<SourceSubject>,
  ordered: boolean,
  patienceMs: number,
): Promise<void> {
  const subject = await make();
  const fixture = new SourceFixture(subject, ordered, patienceMs);
  try {
    await one.run(fixture);
    fixture.verify();
  } finally {
    await fixture.stop();
    await subject.dispose();
  }
}
