import { type Audit, audit } from './audit.ts';
import { type Figures, figureLines } from './figures.ts';
import { stopKafka } from './kafka-stopped.ts';
import { cancelWhenDue } from './order-timeout.ts';
import { commitOrders, payInTime, placeUnpaidOrders, rollBackOrder } from './ordinary-orders.ts';
import { killRelay } from './rush.ts';
import { openScene, type Scene, type SceneOptions } from './scene.ts';
import { duration } from './wording.ts';

export interface DemoOptions extends SceneOptions {
  /** Keep servers, relay and consumer running after the story until the signal aborts. */
  readonly keep: boolean;
}

const shownProblems = 20;

/**
 * Runs a shop on servers started for it: it sells while a relay is killed and Kafka is stopped. Then everything is
 * counted.
 *
 * @throws when an expected condition is not met in time, or a server does not start
 */
export async function playDemo(options: DemoOptions): Promise<Figures> {
  const { tell, keep, signal } = options;
  const beganAt = performance.now();
  tell('A shop that sells while its servers fail. First, what it needs:');
  const scene = await openScene(options);
  try {
    const startedMs = performance.now() - beganAt;
    const result = await play(scene);
    const playedMs = performance.now() - beganAt - startedMs;
    tellResult(scene, result);
    tell(`   Servers: ${duration(startedMs)}, story: ${duration(playedMs)}.`);
    if (keep) await stay(scene, signal);
    return result.figures;
  } catch (error) {
    throw withRelayComplaint(error, scene);
  } finally {
    await scene.close();
  }
}

async function play(scene: Scene): Promise<Audit> {
  await commitOrders(scene);
  await rollBackOrder(scene);
  const waiting = await placeUnpaidOrders(scene);
  await payInTime(scene, waiting);
  const blackout = await killRelay(scene);
  await cancelWhenDue(scene, waiting, blackout);
  const { brokerWasDown } = await stopKafka(scene);
  return audit(scene, { killedMidWay: blackout.killedMidWay, brokerWasDown });
}

function tellResult({ tell }: Scene, { figures, problems }: Audit): void {
  tell("\nCounted in the database and in Kafka's log, read from its beginning");
  for (const line of figureLines(figures)) tell(line);
  for (const problem of problems.slice(0, shownProblems)) tell(`   WRONG: ${problem}`);
  if (problems.length > shownProblems) tell(`   … and ${problems.length - shownProblems} more.`);
  tell(
    figures.ok
      ? '\nNothing was lost, invented, early or out of order, and every message had its effect once.'
      : '\nThe demo FAILED.',
  );
}

/** Keeps everything running until the signal aborts. */
async function stay({ addresses, servers, tell }: Scene, signal: AbortSignal): Promise<void> {
  tell('\nEverything keeps running until Ctrl-C:');
  tell(`   Temporal UI   ${servers.temporal.uiUrl}`);
  tell(`   Temporal      ${addresses.temporalAddress}, namespace ${addresses.temporalNamespace}`);
  tell(`   PostgreSQL    ${addresses.databaseUrl}`);
  tell(`   Kafka         ${addresses.kafkaBrokers}`);
  tell('Look at it from another terminal, with status, list, tail or show <id>:');
  tell(`   npx temporal-outbox list --database '${addresses.databaseUrl}'`);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Adds the relay's last error output, which often explains the failure. */
function withRelayComplaint(error: unknown, scene: Scene): unknown {
  const complaint = scene.relay().complaint().trim();
  if (!(error instanceof Error) || complaint === '') return error;
  return new Error(`${error.message}\n  The relay said last:\n${complaint}`, { cause: error });
}
