import { onTestFinished } from 'vitest';
import { type LocalRabbitmq, startRabbitmq } from '../../../dev/servers/rabbitmq/rabbitmq.ts';
import { type RabbitmqOptions, rabbitmq, type Transport } from '../../../src/transports.ts';
import { inMemory } from '../../support/fixtures/memory-cache.ts';
import { batchOf, brokerAt } from './broker.ts';

/** A node that a test file starts for itself, to stop it or to change what it allows. */
export type OwnNode = Required<LocalRabbitmq>;

export const maxBytes = 10_000;
/** A user, and its password, who may write to exchanges whose names begin with "orders". */
export const user = 'writer';

export async function startOwnNode(): Promise<OwnNode> {
  const { RABBITMQ_URL: _given, ...env } = process.env;
  const started = await startRabbitmq({
    env: await inMemory(env),
    settings: [`max_message_size = ${maxBytes}`],
  });
  const { control, node } = started;
  if (control === undefined || node === undefined) throw new Error('It was not started here.');
  await control(
    'eval',
    `rabbit_auth_backend_internal:add_user(<<"${user}">>, <<"${user}">>, <<"test">>),
     rabbit_auth_backend_internal:set_permissions(<<"${user}">>, <<"/">>, <<".*">>, <<"^orders">>, <<".*">>, <<"test">>).`,
  );
  return { ...started, control, node };
}

/** An exchange with a queue on that node, and a transport that sends there. */
export interface OwnStage {
  readonly address: string;
  readonly transport: Transport;
  readonly publish: ReturnType<typeof batchOf>;
}

export async function stageAt(server: OwnNode, options: Partial<RabbitmqOptions> = {}): Promise<OwnStage> {
  const transport = rabbitmq({ url: server.url, ...options });
  onTestFinished(() => transport.close());
  const broker = await brokerAt(server.url);
  const address = await broker.exchange();
  await broker.close();
  return { address, transport, publish: batchOf(transport) };
}
