import { deliveryIncidents } from './delivery-incidents.ts';
import { groupIncidents } from './group-incidents.ts';
import type { Incident } from './incident.ts';
import { serverIncidents } from './server-incidents.ts';
import { untoldIncidents } from './untold-incidents.ts';

const number = ({ name }: Incident): number => Number.parseInt(name, 10);

/** The incidents of one hour on call, by number. */
export const incidents: readonly Incident[] = [
  ...serverIncidents,
  ...deliveryIncidents,
  ...groupIncidents,
  ...untoldIncidents,
].toSorted((a, b) => number(a) - number(b));
