import { type CaseBody, lifeCycleCases, plainCases } from './contract-cases.ts';
import { faultCases } from './contract-fault-cases.ts';
import { ContractFixture } from './contract-fixture.ts';
import type { ContractCase, TransportSubject } from './contract-subject.ts';

/**
 * The rules of {@link Transport} as cases for any test runner.
 *
 * `make` is called once here, to learn which faults can be injected, and once per case; it gives a fresh address each
 * time. After each case every answer is held against what the broker really holds: nothing acknowledged is missing,
 * offsets are exact, nothing refused or unsent was stored, keys are in order.
 *
 * @example
 * ```ts
 * for (const { name, run } of await transportContract(() => subject())) test(name, run);
 * ```
 */
export async function transportContract(
  make: () => Promise<TransportSubject>,
): Promise<readonly ContractCase[]> {
  const sample = await make();
  const { faults } = sample;
  await release(sample);
  const bodies = [...plainCases, ...lifeCycleCases, ...(faults === undefined ? [] : faultCases(faults))];
  return bodies.map((body) => ({ name: body.name, run: () => runCase(body, make) }));
}

async function runCase(body: CaseBody, make: () => Promise<TransportSubject>): Promise<void> {
  const subject = await make();
  try {
    const fixture = new ContractFixture(subject);
    await body.run(fixture);
    await fixture.verify();
  } finally {
    await release(subject);
  }
}

async function release(subject: TransportSubject): Promise<void> {
  try {
    await subject.faults?.heal();
    await subject.transport.close();
  } finally {
    await subject.dispose();
  }
}
