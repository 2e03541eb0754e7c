import { type DoctorCheck, fine, problem, warning } from '../../core/diagnosis.ts';
import type { ConnectionFacts } from '../../store/doctor/connections.ts';
import { mending } from '../../store/doctor/mending.ts';

/** The connections of a server, and how many one relay of a configuration opens. */
export interface RelayConnectionFacts extends ConnectionFacts {
  /** Its pool and its session. */
  readonly needed: number;
  /** True if a relay runs, whose connections are open already. */
  readonly running: boolean;
}

/** Room that should stay, of all connections. */
const spareShare = 0.1;

/** Whether all processes find a connection. */
export const connectionChecks: readonly DoctorCheck<RelayConnectionFacts>[] = [
  {
    check: 'connections',
    judge(facts) {
      const { needed, open, running, usable } = facts;
      const free = usable - open;
      const said = `${open} of ${usable} connections are open; a relay opens up to ${needed}`;
      const more = `${mending.raiseConnections(2 * Math.max(usable, needed))}; or smaller pools`;
      if (needed > usable || (!running && free < needed))
        return problem(`${said}, which do not fit: it cannot deliver all lanes.`, more);
      if (free < usable * spareShare)
        return warning(`${said}. Less than a tenth is left: a rollout may find none.`, more);
      return fine(`${said}.`);
    },
  },
  {
    check: 'connection limits',
    judge({ databaseLimit, needed, openByRole, openInDatabase, role, roleLimit, running }) {
      const wanted = running ? 1 : needed;
      if (roleLimit !== null && roleLimit - openByRole < wanted)
        return problem(
          `The role "${role}" may have ${roleLimit} connections and has ${openByRole}; a relay opens up to ${needed}.`,
          mending.unlimitRole(role),
        );
      if (databaseLimit !== null && databaseLimit - openInDatabase < wanted)
        return problem(
          `The database takes ${databaseLimit} connections and has ${openInDatabase}; a relay opens up to ${needed}.`,
          mending.unlimitDatabase,
        );
      return fine('Neither role nor database limits them.');
    },
  },
];
