import { type Config, requireDatabase } from '../config/config.ts';
import { type RelayOptions, type RunningRelay, startRelay } from '../config/start-relay.ts';
import { OutboxError } from '../core/errors.ts';
import { exitCodes, type Output } from './output.ts';

/** Runs a relay until the signal fires. */
export async function relayCommand(config: Config, output: Output, signal: AbortSignal): Promise<number> {
  const relay = startRelay(requireDatabase(config, 'A relay'), { report: (event) => tell(event, output) });
  const stop = (): void => void relay.stop();
  signal.addEventListener('abort', stop, { once: true });
  if (!(await untilReady(relay, signal))) return exitCodes.ok;
  output.line(`Delivering ${config.topics.length} topics. Stop with Ctrl-C.`);
  output.value({ event: 'ready', topics: config.topics.map((topic) => topic.name) });
  if (!(await relay.searchAttributes)) {
    output.trouble(
      'Workflows are not searchable: the namespace lacks the keywords OutboxTopic, OutboxKey and OutboxRef.\n' +
        '  Next: temporal operator search-attribute create --name OutboxTopic --type Keyword (and the other two).',
    );
  }
  await relay.done;
  return exitCodes.ok;
}

/** False: it was asked to end before it could deliver. */
async function untilReady({ ready }: RunningRelay, signal: AbortSignal): Promise<boolean> {
  try {
    await ready;
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

type RelayEvent = Parameters<NonNullable<RelayOptions['report']>>[0];

function tell(event: RelayEvent, output: Output): void {
  if (event.type === 'error') {
    const error = inWords(event.error);
    output.trouble(`${new Date().toISOString()} ${event.during} failed: ${error}`);
    output.value({ event: 'error', during: event.during, error });
    return;
  }
  if (event.type === 'waiting-for-server') {
    const { server, address } = event;
    const error = event.error instanceof Error ? event.error.message : String(event.error);
    output.trouble(`${new Date().toISOString()} waits for ${server} at ${address}: ${error}`);
    output.value({ event: 'waiting-for-server', server, address, error });
    return;
  }
  // One per batch and one per receipt: what goes well would hide all else.
  if (event.type === 'batch-settled' || event.type === 'messages-confirmed') return;
  const { type, ...details } = event;
  output.line(`${new Date().toISOString()} ${type} ${JSON.stringify(details)}`);
  output.value({ event: type, ...details });
}

function inWords(error: unknown): string {
  if (error instanceof OutboxError) return `${error.message} ${error.next}`;
  return error instanceof Error ? error.message : String(error);
}
