import { once } from 'node:events';
import { connect } from 'node:net';
import { until } from '../fixtures/until.ts';
import { observer } from './kafka-topic.ts';

const leaveGroup = { api: 13, version: 0 } as const;

/**
 * Removes the only member of a group without its knowledge: the coordinator then answers its heartbeats as if its
 * session had expired. Uses the raw protocol, because no client can leave on behalf of another member.
 */
export async function kickMember(brokers: string, group: string): Promise<void> {
  const admin = observer(brokers).admin();
  await admin.connect();
  const { groups } = await admin.describeGroups([group]);
  await admin.disconnect();
  const member = groups[0]?.members[0]?.memberId ?? '';
  const [host = '', port = ''] = brokers.split(':');
  const socket = connect({ host, port: Number(port) });
  await once(socket, 'connect');
  const answer: Buffer[] = [];
  socket.on('data', (part: Buffer) => answer.push(part));
  const request = Buffer.concat([
    int16(leaveGroup.api),
    int16(leaveGroup.version),
    int32(1),
    text('test'),
    text(group),
    text(member),
  ]);
  socket.write(Buffer.concat([int32(request.length), request]));
  // Length, correlation id, error code.
  await until(() => Buffer.concat(answer).length >= 10);
  socket.destroy();
  const code = Buffer.concat(answer).readInt16BE(8);
  if (code !== 0) throw new Error(`The member "${member}" was not taken out of its group: ${code}.`);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)]);
}
