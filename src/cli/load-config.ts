import { existsSync } from 'node:fs';
import path from 'node:path';
import { isModuleNamespaceObject } from 'node:util/types';
import { createJiti } from 'jiti';
import { type Config, defineConfig } from '../config/config.ts';
import { OutboxError } from '../core/errors.ts';
import { isObject } from '../core/options/collections.ts';
import { reasonOf } from '../core/reason.ts';

/**
 * Loads `outbox.config.ts`, whose default export must be the result of `defineConfig`.
 *
 * @throws OutboxError `OUTBOX_CONFIG_FILE_MISSING`, and `OUTBOX_CONFIG_INVALID` if the file exports something else
 */
export async function loadConfig(file: string): Promise<Config> {
  const target = requireConfigFile(file);
  const exported: unknown = await createJiti(__filename)
    .import(target, { default: true })
    .catch((cause: unknown) => {
      if (cause instanceof OutboxError) throw cause;
      throw new OutboxError('OUTBOX_CONFIG_INVALID', `${target} cannot be loaded: ${firstLine(cause)}`, {
        cause,
      });
    });
  const config = withoutModule(exported);
  if (!isObject(config) || isModule(config)) {
    throw new OutboxError('OUTBOX_CONFIG_INVALID', `${target} has no default export made by defineConfig().`);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- defineConfig checks it
  return defineConfig(config as Config);
}

/** The absolute path of a configuration. @throws OutboxError `OUTBOX_CONFIG_FILE_MISSING` */
export function requireConfigFile(file: string): string {
  const target = path.resolve(file);
  if (existsSync(target)) return target;
  throw new OutboxError('OUTBOX_CONFIG_FILE_MISSING', `There is no configuration at ${target}.`, {
    details: { file: target },
  });
}

/** For a file compiled to CommonJS, the default export is its module object, which contains the actual default export. */
function withoutModule(exported: unknown): unknown {
  return isObject(exported) && 'default' in exported ? exported.default : exported;
}

/** The named exports, where there is no default export. */
function isModule(exported: object): boolean {
  return isModuleNamespaceObject(exported) || Reflect.get(exported, '__esModule') === true;
}

/** The further lines of a missing module's error list the modules that required it. */
function firstLine(cause: unknown): string {
  const text = reasonOf(cause);
  return text.split('\n', 1)[0] ?? text;
}
