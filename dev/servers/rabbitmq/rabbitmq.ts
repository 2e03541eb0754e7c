import { once } from 'node:events';
import { connect } from 'node:net';
import { OutboxError } from '../../../src/core/errors.ts';
import type { LocalContext } from '../local-context.ts';
import type { LocalNode, LocalOptions, ServerSource } from '../local-options.ts';
import { openContext } from '../open-context.ts';
import { makeDataFolder } from '../process/data-folder.ts';
import { freePort } from '../process/free-port.ts';
import { progressStep } from '../process/progress-step.ts';
import { startServer } from '../process/server-process.ts';
import { startOnFreePorts } from '../process/start-on-free-ports.ts';
import { dockerCandidate } from '../providers/docker.ts';
import { requireListener } from '../providers/given-address.ts';
import { firstOffer, mapOffer, sourceOrder } from '../providers/source-order.ts';
import {
  type RabbitmqLauncher,
  rabbitmqContainer,
  rabbitmqOnPath,
  rabbitmqProgram,
} from './rabbitmq-launcher.ts';

/** A RabbitMQ node for development and tests. */
export interface LocalRabbitmq {
  /** `amqp://guest:guest@127.0.0.1:<port>` */
  readonly url: string;
  readonly source: ServerSource;
  /** Its process, if it was started here. */
  readonly node?: LocalNode;
  /** Runs `rabbitmqctl` and returns its output, if the server was started here; takes a second or two. */
  readonly control?: (...args: readonly string[]) => Promise<string>;
  /** Ends the server and removes temporary data. A server given by its address is left alone. Safe to repeat. */
  stop(): Promise<void>;
}

export interface RabbitmqStartOptions extends LocalOptions {
  /** More lines of `rabbitmq.conf`, for a program on PATH. @defaultValue none */
  readonly settings?: readonly string[];
}

/** Erlang takes seconds to load the server's code, longer on a busy machine. */
const readyWithinMs = 90_000;
const answersWithinMs = 2_000;
const protocolHeader = Buffer.from([0x41, 0x4d, 0x51, 0x50, 0, 0, 9, 1]);

/**
 * Starts RabbitMQ 3.10 to 4, or uses the one that `RABBITMQ_URL` names.
 *
 * No package registry has it, so the one on PATH is used even under `CI=true`. It listens on 127.0.0.1 only; user and
 * password are `guest`. Erlang's port mapper (epmd) keeps running after the server ends, as with any Erlang node.
 *
 * @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` if no source has one (with the reason of each), if it does not
 * start (with the end of its log), or if nothing listens at the given address; `OUTBOX_CONFIG_INVALID` if `RABBITMQ_URL`
 * is not a RabbitMQ URL.
 */
export async function startRabbitmq(options: RabbitmqStartOptions): Promise<LocalRabbitmq> {
  const given = options.env['RABBITMQ_URL'] ?? '';
  const order = sourceOrder(given, options.env).flatMap((source): ServerSource[] =>
    source === 'registry' ? ['path'] : [source],
  );
  if (order[0] === 'address') {
    await requireGivenServer(given);
    return { url: given, source: 'address', stop: async () => {} };
  }
  const context = await openContext(options);
  const { source, found: launcher } = await firstOffer<RabbitmqLauncher>('RabbitMQ', [...new Set(order)], {
    path: async () => mapOffer(await rabbitmqOnPath(context), (scripts) => rabbitmqProgram(context, scripts)),
    docker: () => dockerCandidate(context, rabbitmqContainer(context)),
  });
  const started = await startOnFreePorts(() => startBy(context, launcher, options.settings ?? []));
  return { ...started, source };
}

async function requireGivenServer(given: string): Promise<void> {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !['amqp:', 'amqps:'].includes(url.protocol) || url.hostname === '') {
    // The message omits the URL: it may contain a password.
    throw new OutboxError('OUTBOX_CONFIG_INVALID', 'RABBITMQ_URL must be amqp://user:password@host:port.', {
      details: { variable: 'RABBITMQ_URL' },
    });
  }
  const host = url.hostname.replaceAll(/^\[|\]$/g, '');
  const usual = url.protocol === 'amqp:' ? 5672 : 5671;
  await requireListener('RABBITMQ_URL', host, url.port === '' ? usual : Number(url.port));
}

async function startBy(
  context: LocalContext,
  launcher: RabbitmqLauncher,
  settings: readonly string[],
): Promise<Pick<Required<LocalRabbitmq>, 'url' | 'node' | 'control' | 'stop'>> {
  const data = await makeDataFolder(context, 'rabbitmq');
  const ports = { amqp: await freePort(context.ports.rabbitmq), tools: await freePort() };
  await launcher.prepare(data, ports, settings);
  const address = `127.0.0.1:${ports.amqp}`;
  const node = await progressStep(context.tell, `RabbitMQ: starting on port ${ports.amqp}`, () =>
    startServer(context, {
      data,
      name: 'RabbitMQ',
      nodeId: 1,
      address,
      command: launcher.command(data, ports),
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGKILL',
      readyWithinMs,
      // A killed node stays registered until the port mapper notices.
      survived: /already running|already_running|name .* in use/i,
      probe: () => probe(ports.amqp),
    }),
  );
  return {
    url: `amqp://guest:guest@${address}`,
    node,
    control: (...args) => launcher.control(data, ports, args),
    stop: () => node.end(),
  };
}

/** Succeeds when the server answers the protocol header: it opens its listener last during startup. */
async function probe(port: number): Promise<void> {
  const signal = AbortSignal.timeout(answersWithinMs);
  const socket = connect({ host: '127.0.0.1', port });
  try {
    socket.write(protocolHeader);
    const [answer] = (await once(socket, 'data', { signal })) as [Buffer];
    if (answer[0] !== 1) throw new Error('It does not speak AMQP 0-9-1.');
  } finally {
    socket.destroy();
  }
}
