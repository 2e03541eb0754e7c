import { type DeclaredOperation, summaryOf } from '../operations/declared.ts';
import type { Inputs } from '../operations/inputs/values.ts';
import type { Described } from './operation.ts';

/** What requests have of a declaration. */
export type Declaration = Pick<
  DeclaredOperation<never, unknown>,
  'allTopics' | 'overHttp' | 'payloads' | 'role' | 'text'
>;

/** What the request of an operation that only reads has of its declaration. */
export function readRequest(declared: Declaration) {
  return { method: 'GET', way: 'read', ...rightsAndWords(declared) } as const;
}

/** The same of one that changes something, in one transaction; its body has the options. */
export function changeRequest<const Options extends Inputs>(
  declared: Declaration & { readonly options: Options },
) {
  const { options: body } = declared;
  return { method: 'POST', way: 'change', once: true, ...rightsAndWords(declared), body } as const;
}

/** The same of one whose path names what it is of. */
export function pathChangeRequest<const Of extends Inputs, const Options extends Inputs>(
  declared: Declaration & { readonly of: Of; readonly options: Options },
) {
  return { ...changeRequest(declared), params: declared.of } as const;
}

/** The same of one whose body also has what it is of. */
export function bodyChangeRequest<const Of extends Inputs, const Options extends Inputs>(
  declared: Declaration & { readonly of: Of; readonly options: Options },
) {
  return { ...changeRequest(declared), body: { ...declared.of, ...declared.options } } as const;
}

/** What any request of an operation has of its declaration. */
export function rightsAndWords(
  declared: Declaration,
): Pick<Described, 'allTopics' | 'payloads' | 'role' | 'summary'> {
  const { allTopics, payloads, role } = declared;
  return {
    role,
    summary: summaryOf(declared),
    ...(allTopics !== undefined && { allTopics }),
    ...(payloads !== undefined && { payloads }),
  };
}
