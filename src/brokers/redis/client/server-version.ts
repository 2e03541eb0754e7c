import type { RedisClient } from './open-client.ts';

/** The fields of a section of INFO. @throws the server's error reply, without a right to INFO */
export async function infoOf(client: RedisClient, section: string): Promise<ReadonlyMap<string, string>> {
  const text = await client.sendCommand<string>(['INFO', section]);
  return new Map(
    text.split(/\r?\n/).map((line): [string, string] => {
      const at = line.indexOf(':');
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}

/** Name and version of the server: `Redis 7.4.1`, or `valkey 8.0.1`. @throws the server's error reply, without a right to INFO */
export async function serverOf(client: RedisClient): Promise<string> {
  const fields = await infoOf(client, 'server');
  const name = fields.get('server_name') ?? 'Redis';
  const version = fields.get(`${name}_version`) ?? fields.get('redis_version') ?? '';
  return `${name} ${version}`.trim();
}
