import { randomUUID } from 'node:crypto';
import { startRocketmq } from '../../../dev/servers/index.ts';
import { askMasters, isDone } from '../../../src/brokers/rocketmq/client/administration.ts';
import { rocketmqConnection } from '../../../src/brokers/rocketmq/transport/rocketmq-options.ts';
import type { Subscription } from '../../../src/brokers/source.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import { reasonOf } from '../../../src/core/reason.ts';
import { type ReceivingTransport, type RocketmqOptions, rocketmq } from '../../../src/transports.ts';
import { testAuthority } from '../../support/fixtures/certificates.ts';
import { inMemory } from '../../support/fixtures/memory-cache.ts';
import { receiving } from './traffic.ts';

/** Requests of RocketMQ's own tools: `mqadmin createUser`, `createAcl`. */
const createUser = 3001;
const createAcl = 3006;

const opened = new Set<ReceivingTransport>();

/** A RocketMQ that answers nothing without TLS, nor without a user who may ask it. */
export interface EnforcedRocketmq {
  /** Of the user who may do everything. */
  readonly right: RocketmqOptions & { readonly nameServers: string; readonly tls: { readonly ca: string } };
  /** Options of a new user, with these actions by resource, such as `Topic:orders`. */
  userWith(actions: Readonly<Record<string, readonly string[]>>): Promise<RocketmqOptions>;
  stop(): Promise<void>;
}

export async function startEnforced(): Promise<EnforcedRocketmq> {
  const authority = testAuthority('rocketmq');
  const user = { accessKey: 'alice', secretKey: 'wonderland' };
  const started = await startRocketmq({
    env: await inMemory({ ...process.env, ROCKETMQ_ENDPOINTS: '' }),
    // As for the shared server.
    settings: { topicRouteServiceCacheExpiredSeconds: 2, topicRouteServiceCacheRefreshSeconds: 1 },
    secure: { ...authority.issue('127.0.0.1'), ...user, enforced: true },
  });
  const { endpoints, names } = started;
  if (names === undefined) throw new Error('RocketMQ was not started here.');
  const right = { servers: endpoints, nameServers: names, ...user, tls: { ca: authority.ca } };
  const insist = async (code: number, fields: Record<string, string>, body: object): Promise<void> => {
    const answers = await askMasters(rocketmqConnection(right), 'make a user', (master) =>
      master.ask({ code, fields, body: Buffer.from(JSON.stringify(body)) }),
    );
    if (!answers.every(isDone)) throw new Error(`The broker refuses a user: ${answers[0]?.remark}`);
  };
  return {
    right,
    async stop() {
      await Promise.all([...opened].map((transport) => transport.close()));
      await started.stop();
    },
    async userWith(actions) {
      const [username, password] = [`user${randomUUID().slice(0, 8)}`, 'looking'];
      await insist(
        createUser,
        { username },
        { username, password, userType: 'Normal', userStatus: 'enable' },
      );
      const subject = `User:${username}`;
      const entries = Object.entries(actions).map(([resource, allowed]) => ({
        resource,
        actions: allowed,
        decision: 'Allow',
      }));
      await insist(createAcl, { subject }, { subject, policies: [{ policyType: 'Custom', entries }] });
      return { ...right, accessKey: username, secretKey: password };
    },
  };
}

/** Every kind of call to RocketMQ, by what it does. */
export type Calls = Readonly<Record<string, () => Promise<unknown>>>;

/** What calls ask for: an address, and its group {@link groupOf}. */
export const groupOf = (address: string): string => `${address}-group`;

/** Calls with such options to name servers and brokers, and to proxies. */
export function callsWith(
  options: RocketmqOptions,
  address: string,
): { readonly transport: ReceivingTransport; readonly toBrokers: Calls; readonly toProxies: Calls } {
  const transport = rocketmq({ requestTimeout: '20s', ...options });
  opened.add(transport);
  const { groups, offsets, topics } = transport;
  const group = groupOf(address);
  if (groups === undefined || offsets === undefined || topics === undefined)
    throw new Error('It lacks capabilities.');
  return {
    transport,
    toBrokers: {
      'create a topic': () => topics.create(address, 1),
      'create a group': () => groups.create(group, [address]),
      'look for a group': () => groups.missing(group, [address]),
      'read settings for doctor': async () => transport.durability?.(),
      'read ends for receipts': () => offsets.ends(address),
      'read offsets for receipts': () => offsets.committed(group, address),
      'read lags': () => offsets.lags([group], [address]),
    },
    toProxies: {
      'look for a topic': () => topics.missing([address]),
      probe: () => transport.probe(address),
      receive: () => firstJoin(transport, { addresses: [address], group }),
    },
  };
}

/** Joins, or rejects with the reason why the first try failed. */
function firstJoin(
  transport: ReceivingTransport,
  subscription: Pick<Subscription, 'addresses' | 'group'>,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const leaving = new AbortController();
    const disconnected = (error: unknown): void => {
      reject(error);
      leaving.abort(error);
    };
    receiving(transport.source(), { ...subscription, disconnected, signal: leaving.signal }).then(
      resolve,
      reject,
    );
  });
}

/** What each call comes to: `done`, or the code of its error and the reason. */
export async function outcomesOf(calls: Calls): Promise<Readonly<Record<string, string>>> {
  const outcomes: Record<string, string> = {};
  for (const [name, call] of Object.entries(calls))
    outcomes[name] = await call().then(
      () => 'done',
      (error: unknown) => `${error instanceof OutboxError ? error.code : 'other'}: ${reasonOf(error)}`,
    );
  return outcomes;
}

/** The same outcome for each call. */
export function each(calls: Calls, outcome: unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.keys(calls).map((name) => [name, outcome]));
}
