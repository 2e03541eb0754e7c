import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { OutboxError } from '../../src/core/errors.ts';

/**
 * The arguments of Node that run a program of the user: TypeScript through `tsx`, if it is installed beside the program, else
 * by Node itself, if it can.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` if there is no such file, `OUTBOX_PACKAGE_MISSING` if nothing runs TypeScript
 */
export function consumerProgram(file: string): readonly string[] {
  const target = path.resolve(file);
  if (!existsSync(target))
    throw new OutboxError('OUTBOX_OPTION_INVALID', `There is no consumer at ${target}.`, {
      details: { option: 'consumer', value: file },
    });
  if (!/\.[cm]?tsx?$/.test(target)) return [target];
  const tsx = tsxBeside(target);
  if (tsx !== undefined) return ['--import', pathToFileURL(tsx).href, target];
  if (runsTypescript()) return [target];
  throw new OutboxError(
    'OUTBOX_PACKAGE_MISSING',
    `A consumer in TypeScript needs a package that is not installed: npm install --save-dev tsx`,
    { details: { packages: ['tsx'] } },
  );
}

function tsxBeside(file: string): string | undefined {
  try {
    return createRequire(file).resolve('tsx');
  } catch {
    return undefined;
  }
}

/** Node 22.18 and later leave out types by themselves. */
function runsTypescript(): boolean {
  return 'typescript' in process.features && Boolean(process.features.typescript);
}
