import { actionBugs } from './bugs/actions.ts';
import { alertBugs } from './bugs/alerts.ts';
import { brokerBugs } from './bugs/brokers.ts';
import { effectBugs } from './bugs/effects.ts';
import { historyBugs } from './bugs/history.ts';
import { holdBugs } from './bugs/holds.ts';
import { kafkaBugs } from './bugs/kafka.ts';
import { noLossBugs } from './bugs/no-loss.ts';
import { orderBugs } from './bugs/order.ts';
import { parkedBugs } from './bugs/parked.ts';
import { reportBugs } from './bugs/reports.ts';
import { scheduleBugs } from './bugs/schedules.ts';
import { timeBugs } from './bugs/times.ts';
import { apiEdgeMutations } from './list/api-edges.ts';
import { blockingMutations } from './list/blocking.ts';
import { commandLineMutations } from './list/command-line.ts';
import { developmentMutations } from './list/development.ts';
import { faceMutations } from './list/faces.ts';
import { handlerMutations } from './list/handlers.ts';
import { holdMutations } from './list/holds.ts';
import { httpApiMutations } from './list/http-api.ts';
import { inboxMutations } from './list/inbox.ts';
import { incidentMutations } from './list/incidents.ts';
import { kafkaMutations } from './list/kafka.ts';
import { laneNumberMutations } from './list/lane-numbers.ts';
import { laneMutations } from './list/lanes.ts';
import { lateMutations } from './list/late.ts';
import { leafMutations } from './list/leaves.ts';
import { maintenanceMutations } from './list/maintenance.ts';
import { metricMutations } from './list/metrics.ts';
import { parkedMutations } from './list/parked.ts';
import { rabbitmqMutations } from './list/rabbitmq.ts';
import { repeatedRequestMutations } from './list/repeated-requests.ts';
import { rocketmqMutations } from './list/rocketmq.ts';
import { serviceMutations } from './list/services.ts';
import { settleMutations } from './list/settle.ts';
import { signInMutations } from './list/sign-in.ts';
import { standInMutations } from './list/stand-ins.ts';
import { timelineMutations } from './list/timeline.ts';
import { traceMutations } from './list/traces.ts';
import { transactionMutations } from './list/transactions.ts';
import { tryMutations } from './list/tries.ts';
import { waitingMutations } from './list/waiting.ts';
import { watchingMutations } from './list/watching.ts';
import { wiringMutations } from './list/wiring.ts';
import { writingMutations } from './list/writing.ts';
import { type Mutation, mutationsOf } from './mutation.ts';

/** All bugs that tests are known to catch, in the order of a message's way. */
export const mutations: readonly Mutation[] = [
  ...writingMutations,
  ...traceMutations,
  ...transactionMutations,
  ...waitingMutations,
  ...laneMutations,
  ...blockingMutations,
  ...leafMutations,
  ...standInMutations,
  ...laneNumberMutations,
  ...settleMutations,
  ...lateMutations,
  ...kafkaMutations,
  ...rabbitmqMutations,
  ...rocketmqMutations,
  ...serviceMutations,
  ...maintenanceMutations,
  ...holdMutations,
  ...httpApiMutations,
  ...repeatedRequestMutations,
  ...apiEdgeMutations,
  ...signInMutations,
  ...inboxMutations,
  ...incidentMutations,
  ...handlerMutations,
  ...parkedMutations,
  ...tryMutations,
  ...faceMutations,
  ...timelineMutations,
  ...metricMutations,
  ...watchingMutations,
  ...wiringMutations,
  ...commandLineMutations,
  ...developmentMutations,
  ...mutationsOf(noLossBugs),
  ...mutationsOf(orderBugs),
  ...mutationsOf(timeBugs),
  ...mutationsOf(effectBugs),
  ...mutationsOf(parkedBugs),
  ...mutationsOf(kafkaBugs),
  ...mutationsOf(brokerBugs),
  ...mutationsOf(holdBugs),
  ...mutationsOf(scheduleBugs),
  ...mutationsOf(historyBugs),
  ...mutationsOf(actionBugs),
  ...mutationsOf(reportBugs),
  ...mutationsOf(alertBugs),
];
