import { alertTable } from '../../operations/alerts/alerts.ts';
import { pathChangeRequest, readRequest } from '../declared-request.ts';
import { type Operation, operation } from '../operation.ts';

/** `orders` of `topic orders`. */
function topicIn(subject: string): string | undefined {
  return subject.startsWith('topic ') ? subject.slice('topic '.length) : undefined;
}

/** Operations on the alerts of relays. */
export const alertRoutes: readonly Operation[] = [
  operation({
    ...readRequest(alertTable.list),
    name: 'listAlerts',
    path: '/alerts',
    answer: 'Alerts',
    async run({ at, scope }) {
      const status = await at.alerts.list();
      if (!scope.limited) return status;
      const seen = status.alerts.filter(({ subject }) => scope.sees(topicIn(subject)));
      return { ...status, alerts: seen, silences: [], destinations: [] };
    },
  }),
  operation({
    ...pathChangeRequest(alertTable.silence),
    name: 'silenceAlert',
    path: '/alerts/{rule}/silence',
    answer: 'Silenced',
    run: ({ at, author }, { body, path: { rule } }) =>
      at.alerts.silence(rule, { ...author(body), for: body.for }),
  }),
];
