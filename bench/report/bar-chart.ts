/** One bar of a chart. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  /** Ends of a thin line over the bar. */
  readonly from?: number;
  readonly to?: number;
  /** Drawn in the strong color. */
  readonly ours?: boolean;
}

export interface Chart {
  readonly title: string;
  readonly unit: string;
  readonly bars: readonly Bar[];
}

const left = 250;
const width = 820;
const barHeight = 20;
const rowHeight = 30;
const top = 52;

/** A chart of horizontal bars as SVG, readable on light and on dark pages. The scale is logarithmic, and its lines say so. */
export function barChart({ bars, title, unit }: Chart): string {
  const values = bars
    .flatMap(({ from, to, value }) => [value, from ?? value, to ?? value])
    .filter((n) => n > 0);
  const lowest = 10 ** Math.floor(Math.log10(Math.min(...values) * 0.9));
  const highest = Math.max(...values) * 1.1;
  const x = (value: number): number =>
    left + ((width - left - 90) * Math.log(Math.max(value, lowest) / lowest)) / Math.log(highest / lowest);
  const height = top + bars.length * rowHeight + 12;
  const lines: string[] = [];
  for (let tick = lowest; tick <= highest; tick *= 10)
    lines.push(
      `<line class="grid" x1="${at(x(tick))}" x2="${at(x(tick))}" y1="${top - 6}" y2="${height - 10}"/>`,
      `<text class="tick" x="${at(x(tick))}" y="${top - 12}">${grouped(tick)}</text>`,
    );
  const drawn = bars.flatMap((bar, index) => {
    const y = top + index * rowHeight;
    const middle = y + barHeight / 2;
    const end = Math.max(x(bar.value), x(bar.to ?? bar.value));
    return [
      `<text class="label" x="${left - 10}" y="${middle + 4}">${escaped(bar.label)}</text>`,
      `<rect class="${bar.ours ? 'ours' : 'other'}" x="${left}" y="${y}" width="${at(x(bar.value) - left)}" height="${barHeight}" rx="2"/>`,
      ...(bar.from === undefined || bar.to === undefined || bar.from === bar.to
        ? []
        : [`<path class="spread" d="M${at(x(bar.from))} ${middle}H${at(x(bar.to))}"/>`]),
      `<text class="value" x="${at(end + 6)}" y="${middle + 4}">${grouped(bar.value)}</text>`,
    ];
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${style}</style>`,
    `<text class="title" x="10" y="20">${escaped(title)} (${escaped(unit)}, logarithmic)</text>`,
    ...lines,
    ...drawn,
    '</svg>',
  ].join('\n')}\n`;
}

/** Grey text has enough contrast on white and on black; nothing is painted behind. */
const style = [
  'text{font:12px system-ui,sans-serif;fill:#808488}',
  '.title{font-size:14px;font-weight:600}',
  '.label{text-anchor:end}.tick{text-anchor:middle;font-size:10px}',
  '.grid{stroke:#808488;stroke-opacity:.35}',
  '.ours{fill:#2f81f7}.other{fill:#8b949e;fill-opacity:.55}',
  '.spread{stroke:#d29922;stroke-width:3;fill:none}',
].join('');

function at(value: number): string {
  return value.toFixed(1);
}

function grouped(value: number): string {
  return value >= 1_000 ? Math.round(value).toLocaleString('en-US') : String(Math.round(value * 10) / 10);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
