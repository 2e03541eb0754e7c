import { OutboxError } from '../../../core/errors.ts';
import { readJson } from '../../../core/json.ts';
import { isObject } from '../../../core/options/collections.ts';
import { ownReasonOf } from '../../../core/reason.ts';
import { rest } from '../../../core/rest.ts';
import type { RocketmqConnection } from './connection.ts';
import { type RemotingAnswer, RemotingLink, type RemotingQuestion } from './remoting-link.ts';
import { serverFailure } from './unavailable.ts';

/** Numbers of questions. */
export const questions = {
  updateTopic: 17,
  brokerSettings: 26,
  cluster: 106,
  updateGroup: 200,
  topicStats: 202,
  groupStats: 208,
  topic: 351,
  group: 352,
} as const;

const success = 0;
const busy = 2;
/** Also for a wrong user or secret: only {@link ofUser} distinguishes them. */
const noPermission = 16;
/** The words for a user who is unknown, disabled or not named, and for a wrong secret. */
const ofUser = /^user(?:name\b|:.* is not found|:.* not found|:.* is disabled)|signature/i;
const topicUnknown = 17;
const groupUnknown = 26;
/** A broker refuses what has waited for 0.2 s, and does not execute it. */
const againMs = 100;

/** The master of a broker. */
export interface Master {
  /** Name of the broker. */
  readonly name: string;
  /** `host:port`, as the name server reports it. */
  readonly address: string;
  /** @throws OutboxError as {@link serverFailure} */
  ask(question: RemotingQuestion): Promise<RemotingAnswer>;
}

/**
 * Asks every master that the name servers know, one after the other. Proxies create nothing and disclose no settings.
 *
 * @param what it is asked for, for errors, such as `create the topic orders`
 * @throws OutboxError `OUTBOX_CONFIG_MISSING` without the option `nameServers`; as {@link serverFailure}
 */
export async function askMasters<Answer>(
  connection: RocketmqConnection,
  what: string,
  work: (master: Master) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const { nameServers } = connection;
  if (nameServers === undefined)
    throw new OutboxError(
      'OUTBOX_CONFIG_MISSING',
      `To ${what}, rocketmq() needs the option \`nameServers\`: proxies cannot do it.`,
      { details: { setting: 'nameServers' } },
    );
  const answers: Answer[] = [];
  for (const [name, addresses] of await mastersOf(connection, nameServers))
    answers.push(
      await firstReachable(addresses, (address) =>
        linked(connection, address, (link) =>
          work({ address, name, ask: (question) => insist(connection, link, what, question) }),
        ),
      ),
    );
  return answers;
}

/** Tries one address after the other, until one can be reached. */
async function firstReachable<Answer>(
  [address = '', ...others]: readonly string[],
  work: (address: string) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work(address);
  } catch (error) {
    const isAway = error instanceof OutboxError && error.code === 'OUTBOX_SERVER_UNAVAILABLE';
    if (!isAway || others.length === 0) throw error;
    return firstReachable(others, work);
  }
}

/** Whether an answer says that it was done. */
export function isDone({ code }: RemotingAnswer): boolean {
  return code === success;
}

/** Whether an answer says that the topic or group is not there. */
export function isUnknown({ code }: RemotingAnswer): boolean {
  return code === topicUnknown || code === groupUnknown;
}

/**
 * What a master has of a topic or group; `undefined`: it is not there.
 *
 * @param what for errors, such as `the topic orders`
 */
export async function lookUp(master: Master, what: string, question: RemotingQuestion): Promise<unknown> {
  const found = await master.ask(question);
  if (isUnknown(found)) return undefined;
  if (!isDone(found)) throw refused(what, found);
  return jsonOf(found.body, master.name);
}

/** Has a master create it. @param what as for {@link lookUp} */
export async function make(master: Master, what: string, question: RemotingQuestion): Promise<void> {
  const made = await master.ask(question);
  if (!isDone(made)) throw refused(what, made);
}

function refused(what: string, { remark }: RemotingAnswer): OutboxError {
  return new OutboxError('OUTBOX_ADDRESS_UNFIT', `RocketMQ refuses ${what}: ${firstLine(remark)}`, {
    details: { what },
  });
}

/** The JSON of brokers, in which numbers that are keys have no quotes. @param who has answered so */
function jsonOf(body: Buffer, who: string): object {
  const answer = readJson(body.toString().replaceAll(/([{,])(\d+):/g, '$1"$2":'));
  if (isObject(answer) && !Array.isArray(answer)) return answer;
  throw notOfRocketmq(who);
}

/** What listens there may be any server, or of a version that nobody knows. */
export function notOfRocketmq(who: string): Error {
  return new Error(`${who} does not answer as RocketMQ does`);
}

/**
 * The addresses of each master by its name, from all name servers that answer. One that has just started, or was left out in the settings
 * of a broker, knows only some brokers, and what is at the others would look as if it did not exist. A name
 * server may still report an old address, so the majority's answer comes first.
 */
async function mastersOf(
  connection: RocketmqConnection,
  nameServers: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const reasons: string[] = [];
  const told = await Promise.all(
    nameServers.map(async (server) => {
      try {
        const masters = await toldBy(connection, server);
        if (masters.length === 0) reasons.push(`${server} knows no broker`);
        return masters;
      } catch (error) {
        if (error instanceof OutboxError && error.code !== 'OUTBOX_SERVER_UNAVAILABLE') throw error;
        const reason = ownReasonOf(error instanceof OutboxError ? error.cause : error);
        reasons.push(reason.includes(server) ? reason : `${server}: ${reason}`);
        return [];
      }
    }),
  );
  const all = told.flat();
  // Nothing would look like all that there is.
  if (all.length === 0) throw serverFailure({ servers: nameServers }, new Error(reasons.join('; ')));
  const voices = new Map<string, Map<string, number>>();
  for (const [name, address] of all) {
    const of = voices.get(name) ?? new Map<string, number>();
    voices.set(name, of.set(address, (of.get(address) ?? 0) + 1));
  }
  return new Map(
    [...voices].map(([name, of]) => [
      name,
      [...of].toSorted(([, some], [, more]) => more - some).map(([address]) => address),
    ]),
  );
}

/** Names and addresses of the masters that a name server knows. */
async function toldBy(
  connection: RocketmqConnection,
  server: string,
): Promise<readonly (readonly [name: string, address: string])[]> {
  const { body } = await linked(connection, server, (link) =>
    insist(connection, link, 'ask for the brokers', { code: questions.cluster }),
  );
  const brokers: unknown = Reflect.get(jsonOf(body, server), 'brokerAddrTable');
  if (!isObject(brokers)) throw notOfRocketmq(server);
  return Object.entries(brokers).flatMap(([name, broker]: [string, unknown]) => {
    const addresses: unknown = isObject(broker) ? Reflect.get(broker, 'brokerAddrs') : undefined;
    const address: unknown = isObject(addresses) ? Reflect.get(addresses, '0') : undefined;
    return typeof address === 'string' ? [[name, address] as const] : [];
  });
}

async function linked<Answer>(
  connection: RocketmqConnection,
  server: string,
  work: (link: RemotingLink) => Promise<Answer>,
): Promise<Answer> {
  const link = new RemotingLink(server, connection);
  try {
    return await work(link);
  } catch (error) {
    throw error instanceof OutboxError ? error : serverFailure({ servers: [server] }, error);
  } finally {
    link.close();
  }
}

/** Repeats a question to a busy broker until the request timeout. */
async function insist(
  { requestTimeoutMs }: RocketmqConnection,
  link: RemotingLink,
  what: string,
  question: RemotingQuestion,
): Promise<RemotingAnswer> {
  const untilMs = performance.now() + requestTimeoutMs;
  for (;;) {
    const answer = await link.ask(question);
    if (answer.code === noPermission) throw notAllowed(what, answer);
    if (answer.code !== busy || performance.now() > untilMs) return answer;
    await rest(againMs, new AbortController().signal);
  }
}

function notAllowed(what: string, { remark }: RemotingAnswer): OutboxError {
  const said = firstLine(remark);
  const [code, how] = ofUser.test(said)
    ? (['OUTBOX_SERVER_REFUSED', 'does not accept `accessKey` and `secretKey`, needed to'] as const)
    : (['OUTBOX_PRIVILEGE_MISSING', 'does not let this user'] as const);
  return new OutboxError(code, `RocketMQ ${how} ${what}: ${said}`, { details: { what } });
}

/** Without the link to the documentation that follows. */
export function firstLine(remark: string): string {
  return remark.split('\n')[0] ?? '';
}
