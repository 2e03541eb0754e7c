import { createRequire } from 'node:module';
import path from 'node:path';
import { migrateTopics } from '../../src/app/relay/migrate-topics.ts';
import { loadConfig } from '../../src/cli/load-config.ts';
import type { Output } from '../../src/cli/output.ts';
import { relayCommand } from '../../src/cli/relay-command.ts';

/**
 * The relay of `temporal-outbox dev`, which runs it by `node --watch`: creates topics that the configuration has got, then
 * delivers. A change of the configuration, or of a file that it loads, starts it again.
 */
export async function devRelayCommand(file: string, output: Output, signal: AbortSignal): Promise<number> {
  // Also if it cannot be loaded, so that correcting it starts the relay.
  watch([path.resolve(file)]);
  const config = await loadConfig(file).finally(() => watch(loadedFiles()));
  await migrateTopics(config, { create: true });
  return relayCommand(config, output, signal, { asText: true });
}

/** Node reports to `--watch` what it loads itself; the configuration is loaded by jiti. */
function watch(files: readonly string[]): void {
  process.send?.({ 'watch:require': files });
}

function loadedFiles(): readonly string[] {
  const outside = `${path.sep}node_modules${path.sep}`;
  return Object.keys(createRequire(__filename).cache).filter((file) => !file.includes(outside));
}
