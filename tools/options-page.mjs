/**
 * Makes docs/options.md of the models that the API extractor writes beside its reports: every public interface that holds
 * options or settings, with the docstrings of its members.
 */

const holdsOptions = /(?:Options|Config|Settings|Limits|Confirm|Retention|Tls|Queues|Exchange)$/;

/**
 * The page.
 *
 * @param entries each entry point by its import path, with its model; an interface is shown at the first that has it
 */
export function optionsPage(entries) {
  const shown = new Set();
  const parts = entries.flatMap(({ path, model }) => {
    const interfaces = model.members[0].members
      .filter(({ kind, name }) => kind === 'Interface' && holdsOptions.test(name) && !shown.has(name))
      .filter(({ members }) => members.length > 0);
    for (const { name } of interfaces) shown.add(name);
    return interfaces.length === 0 ? [] : [`## ${path}`, ...interfaces.map(section)];
  });
  return `# All options

Generated from the docstrings by \`npm run generated\`; do not edit. [configuration.md](configuration.md) explains the settings and how
they work together. ƒ: may be a function, such as \`env('NAME')\`, which is called when the value is needed.

${parts.join('\n\n')}
`;
}

function section({ docComment, members, name }) {
  const { text } = docOf(docComment);
  const rows = members.map((member) => {
    const { fallback, text: meaning } = docOf(member.docComment);
    const type = typeOf(member);
    const lazy = type.startsWith('Lazy<') ? ' ƒ' : '';
    const required = member.isOptional ? '' : ' (required)';
    return `| \`${member.name}\`${lazy}${required} | ${meaning} | ${fallback} |`;
  });
  return `### ${name}

${text}

| option | | default |
| --- | --- | --- |
${rows.join('\n')}`;
}

function typeOf({ excerptTokens, propertyTypeTokenRange: range }) {
  return range === undefined
    ? ''
    : excerptTokens
        .slice(range.startIndex, range.endIndex)
        .map(({ text }) => text)
        .join('');
}

/** The text of a docstring in one line, and its default. */
function docOf(comment = '') {
  const line = comment
    .replaceAll(/^\/\*\*|\*\/$/gm, '')
    .replaceAll(/^\s*\* ?/gm, '')
    .replaceAll(/\{@link (?:[^}|]*\|)?\s*([^}]+)\}/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('|', String.raw`\|`)
    .trim();
  const [text = '', rest = ''] = line.split('@defaultValue');
  return { text: text.trim(), fallback: rest.split(' @')[0].trim() };
}
