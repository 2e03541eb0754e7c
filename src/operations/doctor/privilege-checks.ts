import { type DoctorCheck, fine, firstOf, problem, warning } from '../../core/diagnosis.ts';
import { mending } from '../../store/doctor/mending.ts';
import type { OwnerFacts, RoleFacts } from '../../store/doctor/privileges.ts';

/** The rights of the role that is connected, and of those that were granted some. */
export interface PrivilegeFacts {
  readonly own: OwnerFacts;
  readonly roles: readonly RoleFacts[];
}

/** Rights in the schema `outbox`. */
export const privilegeChecks: readonly DoctorCheck<PrivilegeFacts>[] = [
  {
    check: 'relay role',
    judge({ own: { foreign, operates, owner, owns, role, unread } }) {
      const runner = owns ? role : owner;
      const [first] = foreign;
      if (first !== undefined)
        return problem(
          `"${runner}" does not own ${firstOf(foreign)}: relays cannot keep the history, and migrations fail.`,
          mending.own(first, owner),
        );
      if (owns) return fine(`"${role}" may migrate, relay, send and consume.`);
      if (unread.length > 0)
        return problem(
          `"${role}" neither owns the schema outbox nor may read ${firstOf(unread)}: with it neither relay, migrate nor commands work.`,
          mending.member(role, owner),
        );
      return fine(
        `"${role}" may ${operates ? 'read and operate' : 'read'}; relays and migrate need the rights of "${owner}".`,
      );
    },
  },
  {
    check: 'sending roles',
    judge({ roles }) {
      const senders = roles.filter(({ consumes, sends }) => sends && !consumes);
      const lacking = senders.find(({ lacksToSend }) => lacksToSend.length > 0);
      if (lacking !== undefined)
        return problem(
          `"${lacking.role}" may insert messages, but cannot send: it lacks ${firstOf(lacking.lacksToSend)}.`,
          mending.letSend(lacking.role),
        );
      return senders.length === 0
        ? undefined
        : fine(`May send: ${firstOf(senders.map(({ role }) => role))}.`);
    },
  },
  {
    check: 'consuming roles',
    judge({ roles }) {
      const consumers = roles.filter(({ consumes }) => consumes);
      const lacking = consumers.find(({ lacksToConsume }) => lacksToConsume.length > 0);
      if (lacking !== undefined)
        return problem(
          `"${lacking.role}" may insert processed ids, but cannot consume: it lacks ${firstOf(lacking.lacksToConsume)}.`,
          mending.letConsume(lacking.role),
        );
      const idle = consumers.find(({ mayKeepIds }) => !mayKeepIds);
      if (idle !== undefined)
        return warning(
          `"${idle.role}" consumes, but may not drop expired ids: without a relay in this database they stay forever.`,
          mending.letKeepIds(idle.role),
        );
      return consumers.length === 0
        ? undefined
        : fine(`May consume: ${firstOf(consumers.map(({ role }) => role))}.`);
    },
  },
];
