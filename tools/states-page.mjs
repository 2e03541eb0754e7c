/**
 * Generates output from the transition tables (src/core/transitions.ts, src/core/parked-states.ts): the page
 * docs/states.md, or with `--sql` the trigger of the database, as the text of a migration, on standard output.
 */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** The page: for messages of the outbox, and for those that a consumer keeps. */
export function statesPage(tables) {
  return `${outboxPart(tables)}\n${keptPart(tables)}`;
}

/** A diagram, and the actor of each change. */
export function outboxPart({ states, transitions }) {
  return `# States of a message

Generated from \`src/core/transitions.ts\` and \`src/core/parked-states.ts\` by \`npm run generated\`; do not edit. The database
refuses every other change (trigger \`message_transition\`). A message begins as \`ready\`, or as \`waiting\` when it is due
later. \`ready\` reads as \`published\` once its lane's cursor has passed it.

${picture({ begins: ['ready', 'waiting'], states, transitions })}`;
}

/** The same for messages that a consumer keeps. */
export function keptPart({ keptStates, keptTransitions }) {
  return `## A message that a consumer keeps

The database refuses every other change (trigger \`parked_transition\`). A message begins as \`parked\`, or as \`failed\`
when no try can help. A parked one whose try succeeds is deleted with the effects of the try: from then on it is one of
the processed ids. Superseded and discarded ones are deleted after the window of processed ids.

${picture({ begins: ['parked', 'failed'], states: keptStates, transitions: keptTransitions, done: ['parked'] })}`;
}

/** @param done non-final states in which a message may nevertheless end */
function picture({ begins, done = [], states, transitions }) {
  const ends = states.filter(
    (state) => done.includes(state) || transitions.every(({ from }) => from !== state),
  );
  return `\`\`\`mermaid
stateDiagram-v2
${begins.map((state) => `  [*] --> ${state}`).join('\n')}
${transitions.map(({ from, to }) => `  ${from} --> ${to}`).join('\n')}
${ends.map((state) => `  ${state} --> [*]`).join('\n')}
\`\`\`

| from | to | by |
| --- | --- | --- |
${transitions.map(({ from, to, by }) => `| ${from} | ${to} | ${by} |`).join('\n')}
`;
}

/** The trigger of the database. Its WHEN clause lists the legal pairs, so that a legal change calls no function. */
export function transitionGuard(states, transitions) {
  const legal = states.flatMap((state) => {
    const targets = transitions.filter(({ from }) => from === state).map(({ to }) => `'${to}'`);
    return targets.length === 0 ? [] : [`old.state = '${state}' and new.state in (${targets.join(', ')})`];
  });
  return `create or replace trigger message_transition before update of state on outbox.message for each row
when (old.state is distinct from new.state and not (
     ${legal.join('\n  or ')}
))
execute function outbox.refuse_transition();
`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { states, transitions } = await import('../dist/src/core/transitions.js');
  if (process.argv.includes('--sql')) process.stdout.write(transitionGuard(states, transitions));
  else {
    const { keptStates, keptTransitions } = await import('../dist/src/core/parked-states.js');
    writeFileSync('docs/states.md', statesPage({ states, transitions, keptStates, keptTransitions }));
  }
}
