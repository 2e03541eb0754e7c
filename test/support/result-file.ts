import { JsonReporter, type SerializedError, type TestModule } from 'vitest/node';

/** The result file of vitest, and how many errors happened outside of tests: they make a run red, too. */
export class ResultFile extends JsonReporter {
  #errorsOutsideTests = 0;

  override async onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[] = [],
  ): Promise<void> {
    this.#errorsOutsideTests = errors.length;
    await super.onTestRunEnd(modules);
  }

  override async writeReport(report: string): Promise<void> {
    const results = JSON.parse(report) as object;
    await super.writeReport(JSON.stringify({ errorsOutsideTests: this.#errorsOutsideTests, ...results }));
  }
}
