import { doctorCommand } from '../../../src/cli/doctor-command.ts';
import { explain, type Output } from '../../../src/cli/output.ts';
import type { Config } from '../../../src/config/config.ts';
import type { Health } from '../../../src/core/health.ts';
import { plantedSecret, saidBeside } from '../../support/faults/repeating-servers.ts';

/** What was told, by where. */
export class Told {
  readonly texts = new Map<string, string>();

  add(where: string, what: unknown): void {
    const text = typeof what === 'string' ? what : JSON.stringify(what);
    this.texts.set(where, `${this.texts.get(where) ?? ''}${text}\n`);
  }

  /** A logger, and an output of commands, that tell it here. */
  logger(where: string) {
    const line = (facts: object, message: string): void => this.add(where, { ...facts, message });
    return { warn: line, error: line };
  }

  output(where: string): Output {
    const add = (what: unknown): void => this.add(where, what);
    return { json: false, line: add, value: add, trouble: add };
  }

  /** In plain text, in an address, and in base64 of whatever. */
  get leaks(): readonly string[] {
    const forms = [plantedSecret, encodeURIComponent(plantedSecret)];
    return [...this.texts]
      .filter(([, text]) => {
        const words = text.match(/[\w+/-]{8,}/g) ?? [];
        const decoded = words.map((word) => Buffer.from(word, 'base64').toString('latin1'));
        return [text, ...decoded].some((one) => forms.some((form) => one.includes(form)));
      })
      .map(([where]) => where);
  }

  get telling(): readonly string[] {
    return [...this.texts].filter(([, text]) => text.includes(saidBeside)).map(([where]) => where);
  }
}

export async function examine(config: Config, told: Told): Promise<void> {
  const output = told.output('doctor');
  await doctorCommand(config, output).catch((error: unknown) => explain(error, output));
}

/** As whoever reads it writes it down. */
export function tellHealth(told: Told, where: string, { failing }: Health): void {
  for (const { error, what } of failing) {
    told.add(where, what);
    told.add(`${where} as JSON`, failing);
    explain(error, told.output(where));
  }
}
