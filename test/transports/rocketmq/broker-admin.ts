import { setTimeout as delay } from 'node:timers/promises';
import { type RemotingAnswer, RemotingLink } from './remoting-link.ts';

const codes = {
  sendMessage: 10,
  pullMessage: 11,
  updateTopic: 17,
  maxOffset: 30,
  updateGroup: 200,
};
const success = 0;
/** A request waited longer than 0.2 s for the broker, which has dropped it: a machine with more to do than it has cores. */
const busy = 2;
const busyForMs = 100;

/** What `mqadmin` does, without a JVM for every step; and messages where they lie, without a consumer. */
export class BrokerAdmin {
  readonly #broker: string;
  #link: RemotingLink | undefined;

  /** @param broker its `host:port` */
  constructor(broker: string) {
    this.#broker = broker;
  }

  /** `mqadmin updateTopic -t … -r … -w … -a +message.type=…` */
  async createTopic(topic: string, type: 'NORMAL' | 'FIFO' | 'DELAY', queues: number): Promise<void> {
    await this.#insist(codes.updateTopic, {
      topic,
      defaultTopic: 'TBW102',
      readQueueNums: String(queues),
      writeQueueNums: String(queues),
      perm: '6',
      topicFilterType: 'SINGLE_TAG',
      topicSysFlag: '0',
      order: 'false',
      attributes: `+message.type=${type}`,
    });
  }

  /** `mqadmin updateSubGroup -g … -o … -r …` */
  async createGroup(groupName: string, ordered: boolean, retryMaxTimes = 1_000_000): Promise<void> {
    const settings = {
      groupName,
      consumeEnable: true,
      consumeMessageOrderly: ordered,
      retryQueueNums: 1,
      retryMaxTimes,
      brokerId: 0,
      whichBrokerWhenConsumeSlowly: 1,
    };
    await this.#insist(codes.updateGroup, {}, Buffer.from(JSON.stringify(settings)));
  }

  /** Puts a message into one queue. @returns where it lies */
  async put(
    topic: string,
    queue: number,
    { body, properties }: { body: Buffer; properties: Readonly<Record<string, string>> },
  ): Promise<RemotingAnswer['fields']> {
    const text = Object.entries(properties).map(([name, value]) => `${name}\u0001${value}\u0002`);
    const fields = {
      producerGroup: 'admin',
      topic,
      defaultTopic: 'TBW102',
      defaultTopicQueueNums: '4',
      queueId: String(queue),
      sysFlag: '0',
      bornTimestamp: String(Date.now()),
      flag: '0',
      properties: text.join(''),
      reconsumeTimes: '0',
    };
    return (await this.#insist(codes.sendMessage, fields, body)).fields;
  }

  /** Everything that a topic holds, in the order in which the broker wrote it. */
  async read(topic: string, queues: number): Promise<readonly StoredMessage[]> {
    await this.#indexed();
    const messages: StoredMessage[] = [];
    for (let queueId = 0; queueId < queues; queueId += 1) {
      const { fields } = await this.#insist(codes.maxOffset, { topic, queueId: String(queueId) });
      const end = Number(fields['offset']);
      for (let offset = 0; offset < end; ) {
        const read = await this.#pull(topic, queueId, offset);
        messages.push(...read);
        offset += read.length;
      }
    }
    return messages.toSorted((a, b) => a.place - b.place);
  }

  /** Resolves when all that was stored so far is in its queue: brokers do that behind the answer, in the order of their log. */
  async #indexed(): Promise<void> {
    const topic = 'outbox-marks';
    await this.createTopic(topic, 'NORMAL', 1);
    const end = async (): Promise<number> =>
      Number((await this.#insist(codes.maxOffset, { topic, queueId: '0' })).fields['offset']);
    const offset = Number(
      (await this.put(topic, 0, { body: Buffer.from('mark'), properties: {} }))['queueOffset'],
    );
    while ((await end()) <= offset) await delay(2);
  }

  async #pull(topic: string, queueId: number, offset: number): Promise<readonly StoredMessage[]> {
    const { body } = await this.#insist(codes.pullMessage, {
      consumerGroup: 'CID_RMQ_SYS_admin',
      topic,
      queueId: String(queueId),
      queueOffset: String(offset),
      maxMsgNums: '256',
      sysFlag: '4',
      commitOffset: '0',
      suspendTimeoutMillis: '0',
      subscription: '*',
      subVersion: '0',
    });
    return storedMessages(body);
  }

  async #insist(
    code: number,
    fields: Readonly<Record<string, string>>,
    body?: Buffer,
  ): Promise<RemotingAnswer> {
    for (;;) {
      const answer = await this.#ask(code, fields, body);
      if (answer.code === success) return answer;
      if (answer.code !== busy) throw new Error(`The broker answered ${answer.code}: ${answer.remark}`);
      await delay(busyForMs);
    }
  }

  #ask(code: number, extFields: Readonly<Record<string, string>>, body?: Buffer): Promise<RemotingAnswer> {
    this.#link ??= new RemotingLink(this.#broker, () => {
      this.#link = undefined;
    });
    return this.#link.ask(code, extFields, body);
  }
}

/** A message as the broker stored it. */
export interface StoredMessage {
  readonly queue: number;
  readonly offset: number;
  /** Where it lies in the log of the broker. */
  readonly place: number;
  readonly body: Buffer;
  readonly properties: ReadonlyMap<string, string>;
}

/** The log format of RocketMQ, with IPv4 addresses. */
function storedMessages(log: Buffer): readonly StoredMessage[] {
  const messages: StoredMessage[] = [];
  for (let start = 0; start < log.length; start += log.readInt32BE(start)) {
    const bodyAt = start + 88;
    const bodyEnd = bodyAt + log.readInt32BE(start + 84);
    const topicEnd = bodyEnd + 1 + log.readUInt8(bodyEnd);
    const propertiesEnd = topicEnd + 2 + log.readInt16BE(topicEnd);
    const text = log.toString('utf8', topicEnd + 2, propertiesEnd);
    messages.push({
      queue: log.readInt32BE(start + 12),
      offset: Number(log.readBigInt64BE(start + 20)),
      place: Number(log.readBigInt64BE(start + 28)),
      body: log.subarray(bodyAt, bodyEnd),
      properties: new Map(
        text
          .split('\u0002')
          .filter((pair) => pair !== '')
          .map((pair) => {
            const [name = '', value = ''] = pair.split('\u0001');
            return [name, value];
          }),
      ),
    });
  }
  return messages;
}
