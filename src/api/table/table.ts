import { mayAct } from '../caller.ts';
import { type Operation, operation } from '../operation.ts';
import { alertRoutes } from './alerts.ts';
import { bulkRoutes } from './bulk.ts';
import { deliveryRoutes } from './delivery.ts';
import { inboxRoutes } from './inbox.ts';
import { messageRoutes } from './messages.ts';
import { scheduleRoutes } from './schedules.ts';

const showMe = operation({
  name: 'showMe',
  method: 'GET',
  path: '/me',
  summary: 'Who you are, and what you may do.',
  role: 'viewer',
  way: 'read',
  answer: 'Me',
  run: async ({ caller: { name, payloads, role, topics } }) => ({
    name,
    role,
    payloads,
    topics: topics ?? null,
    operations: operationTable
      .filter((one) => mayAct(role, one.role) && (one.payloads !== true || payloads))
      .filter((one) => one.allTopics !== true || topics === undefined)
      .map((one) => one.name),
  }),
});

/**
 * Every operation of the API. Its routes, checks, rights, OpenAPI document and page are made of this table, so what is not in it
 * does not exist.
 */
export const operationTable: readonly Operation[] = [
  showMe,
  ...deliveryRoutes,
  ...messageRoutes,
  ...bulkRoutes,
  ...inboxRoutes,
  ...scheduleRoutes,
  ...alertRoutes,
];
