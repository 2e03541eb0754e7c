import { asSentence, operationTexts, optionTexts } from '../../operations/descriptions.ts';
import { authored, meaning, shortName, span, spanForm } from '../../operations/inputs/values.ts';
import { type Operation, operation } from '../operation.ts';

/** `orders` of `topic orders`. */
function topicIn(subject: string): string | undefined {
  return subject.startsWith('topic ') ? subject.slice('topic '.length) : undefined;
}

/** Operations on the alerts of relays. */
export const alertRoutes: readonly Operation[] = [
  operation({
    name: 'listAlerts',
    method: 'GET',
    path: '/alerts',
    summary: `${asSentence(operationTexts['alerts list'])} For a caller that is limited, only what fires of its topics.`,
    role: 'viewer',
    way: 'read',
    answer: 'Alerts',
    async run({ at, scope }) {
      const status = await at.alerts.list();
      if (!scope.limited) return status;
      const seen = status.alerts.filter(({ subject }) => scope.sees(topicIn(subject)));
      return { ...status, alerts: seen, silences: [], destinations: [] };
    },
  }),
  operation({
    name: 'silenceAlert',
    method: 'POST',
    path: '/alerts/{rule}/silence',
    summary: `${asSentence(operationTexts['alerts silence'])} Not for callers that are limited.`,
    role: 'operator',
    allTopics: true,
    way: 'change',
    once: true,
    params: { rule: meaning(shortName, 'its name, as in the setting `alerts`') },
    body: { ...authored, for: meaning(span, optionTexts.silenceFor, spanForm) },
    answer: 'Silenced',
    run({ at, author }, { body, path: { rule } }) {
      return at.alerts.silence(rule, { ...author(body), for: body.for });
    },
  }),
];
