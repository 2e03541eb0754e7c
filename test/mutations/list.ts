import { actionBugs } from './bugs/actions.ts';
import { alertBugs } from './bugs/alerts.ts';
import { apiBugs } from './bugs/api.ts';
import { brokerBugs } from './bugs/brokers.ts';
import { callerBugs } from './bugs/callers.ts';
import { edgeBugs } from './bugs/edges.ts';
import { effectBugs } from './bugs/effects.ts';
import { handlerBugs } from './bugs/handlers.ts';
import { historyBugs } from './bugs/history.ts';
import { holdBugs } from './bugs/holds.ts';
import { kafkaBugs } from './bugs/kafka.ts';
import { metricBugs } from './bugs/metrics.ts';
import { noLossBugs } from './bugs/no-loss.ts';
import { orderBugs } from './bugs/order.ts';
import { parkedBugs } from './bugs/parked.ts';
import { relayBugs } from './bugs/relays.ts';
import { reportBugs } from './bugs/reports.ts';
import { scheduleBugs } from './bugs/schedules.ts';
import { startBugs } from './bugs/starts.ts';
import { timeBugs } from './bugs/times.ts';
import { watchingBugs } from './bugs/watching.ts';
import { type Mutation, mutationsOf } from './mutation.ts';

/** All bugs that tests are known to catch. */
export const mutations: readonly Mutation[] = [
  noLossBugs,
  orderBugs,
  timeBugs,
  effectBugs,
  parkedBugs,
  kafkaBugs,
  brokerBugs,
  holdBugs,
  scheduleBugs,
  historyBugs,
  actionBugs,
  reportBugs,
  alertBugs,
  relayBugs,
  handlerBugs,
  watchingBugs,
  edgeBugs,
  startBugs,
  metricBugs,
  apiBugs,
  callerBugs,
].flatMap((bugs) => mutationsOf(bugs));
