import { type RelayOptions, type RunningRelay, startRelay } from '../app/relay/start-relay.ts';
import { type Config, requireDatabase } from '../config/config.ts';
import type { Logger } from '../config/logger.ts';
import { OutboxError } from '../core/errors.ts';
import { reasonOf } from '../core/reason.ts';
import { exitCodes, type Output } from './output.ts';

/**
 * Runs a relay until the signal fires. Logs troubles to standard error.
 *
 * @param asText as text, else as lines of JSON. By default text on a terminal
 */
export async function relayCommand(
  config: Config,
  output: Output,
  signal: AbortSignal,
  asText: boolean = process.stderr.isTTY,
): Promise<number> {
  const relay = startRelay(requireDatabase(config, 'A relay'), {
    report: (event) => tell(event, output),
    ...(asText && { logger: inText(output) }),
  });
  const stop = (): void => void relay.stop();
  signal.addEventListener('abort', stop, { once: true });
  if (!(await untilReady(relay, signal))) return exitCodes.ok;
  const count = config.topics.length;
  output.line(`Delivering ${count} ${count === 1 ? 'topic' : 'topics'}. Stop with Ctrl-C.`);
  output.value({ event: 'ready', topics: config.topics.map((topic) => topic.name) });
  void warnIfNotSearchable(relay, output);
  await relay.done;
  return exitCodes.ok;
}

async function warnIfNotSearchable({ searchAttributes }: RunningRelay, output: Output): Promise<void> {
  // If Temporal never answers, there is nothing to search.
  if (await searchAttributes.catch(() => true)) return;
  output.trouble(
    'Workflows are not searchable: the namespace lacks the keywords OutboxTopic, OutboxKey and OutboxRef.\n' +
      '  Next: temporal operator search-attribute create --name OutboxTopic --type Keyword (and the other two).',
  );
}

/** @returns false if it was stopped before it could deliver */
async function untilReady({ ready }: RunningRelay, signal: AbortSignal): Promise<boolean> {
  try {
    await ready;
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

/** Logs as text. */
function inText(output: Output): Logger {
  const line = (facts: object, message: string): void => {
    const next = 'next' in facts ? ` ${String(facts.next)}` : '';
    output.trouble(`${new Date().toISOString()} ${message}${next}`);
  };
  return { warn: line, error: line };
}

type RelayEvent = Parameters<NonNullable<RelayOptions['report']>>[0];

function tell(event: RelayEvent, output: Output): void {
  // One per batch and one per receipt: these would hide all other events.
  if (event.type === 'batch-settled' || event.type === 'messages-confirmed') return;
  const { type, ...details } = event;
  if ('error' in details) {
    output.value({ event: type, ...details, error: inWords(details.error) });
    return;
  }
  output.line(`${new Date().toISOString()} ${type} ${JSON.stringify(details)}`);
  output.value({ event: type, ...details });
}

function inWords(error: unknown): string {
  if (error instanceof OutboxError) return `${error.message} ${error.next}`;
  return reasonOf(error);
}
