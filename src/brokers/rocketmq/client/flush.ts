import { type Diagnosis, type DoctorFinding, fine, warning } from '../../../core/diagnosis.ts';
import { askMasters, firstLine, isDone, questions } from './administration.ts';
import type { RocketmqConnection } from './connection.ts';
import { serverFailure } from './unavailable.ts';

/**
 * What each master keeps of acknowledged messages. Nothing without the option `nameServers`, because proxies do not disclose it.
 *
 * @throws OutboxError as {@link serverFailure}
 */
export async function flushFindings(connection: RocketmqConnection): Promise<readonly DoctorFinding[]> {
  if (connection.nameServers === undefined) return [];
  return askMasters(connection, 'read the settings of brokers', async (master) => {
    const { name } = master;
    const answer = await master.ask({ code: questions.brokerSettings });
    if (!isDone(answer)) throw serverFailure(connection, new Error(`${name}: ${firstLine(answer.remark)}`));
    return { check: `rocketmq ${name}`, ...judgeFlush(name, settingsIn(answer.body.toString())) };
  });
}

/** Judges what a master does before it acknowledges a message. */
export function judgeFlush(name: string, settings: ReadonlyMap<string, string>): Diagnosis {
  const flush = settings.get('flushDiskType');
  const role = settings.get('brokerRole');
  if (flush === 'SYNC_FLUSH') return fine('It acknowledges messages that are on its disk.');
  if (role === 'SYNC_MASTER') return fine('It acknowledges messages that a second broker has.');
  return warning(
    `The broker ${name} of RocketMQ acknowledges messages before they are on a disk (flushDiskType=${flush ?? 'unknown'}, brokerRole=${role ?? 'unknown'}): a crash of its machine loses those of about the last half second.`,
    'set flushDiskType=SYNC_FLUSH, or brokerRole=SYNC_MASTER with a second broker, in broker.conf, and restart it',
  );
}

/** The lines of a properties file. */
function settingsIn(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split('\n').flatMap((line) => {
      const at = line.indexOf('=');
      return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const];
    }),
  );
}
