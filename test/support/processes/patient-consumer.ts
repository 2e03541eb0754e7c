import { type CliProcess, startProcess } from '../fixtures/cli-process.ts';
import { builtProgram } from './built-program.ts';

/** Settings of the process. */
export interface PatientConsumerSettings {
  readonly url: string;
  readonly brokers: string;
  readonly address: string;
  readonly group: string;
}

/** Starts a consumer as a child process, which prints `ready` when it has joined; it ends with the test. */
export function startPatientConsumer(
  context: { readonly onTestFinished: (work: () => Promise<void>) => void },
  settings: PatientConsumerSettings,
  env: Readonly<Record<string, string>> = {},
): CliProcess {
  return startProcess(context, [builtProgram('patient-consumer-main'), JSON.stringify(settings)], env);
}
