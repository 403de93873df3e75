/**
 * Charts as SVG, small enough to read: bars lying, and lines over a linear or a logarithmic axis. One file reads in light and
 * dark: colours of text and grid follow the reader's scheme by a media query inside of the picture.
 */

const WIDTH = 760;
const FONT = 'font-family="system-ui, sans-serif"';
const STYLE = `<style>
  .text { fill: #24292f } .muted { fill: #57606a } .grid { stroke: #d0d7de; stroke-width: 1 } .bar { fill: #8c959f } .own { fill: #0969da }
  .s0 { stroke: #0969da; fill: #0969da } .s1 { stroke: #cf222e; fill: #cf222e } .s2 { stroke: #1a7f37; fill: #1a7f37 }
  .s3 { stroke: #9a6700; fill: #9a6700 } .s4 { stroke: #8250df; fill: #8250df } .s5 { stroke: #57606a; fill: #57606a }
  @media (prefers-color-scheme: dark) {
    .text { fill: #e6edf3 } .muted { fill: #9198a1 } .grid { stroke: #3d444d } .bar { fill: #656c76 } .own { fill: #4493f8 }
    .s0 { stroke: #4493f8; fill: #4493f8 } .s1 { stroke: #f85149; fill: #f85149 } .s2 { stroke: #3fb950; fill: #3fb950 }
    .s3 { stroke: #d29922; fill: #d29922 } .s4 { stroke: #ab7df8; fill: #ab7df8 } .s5 { stroke: #9198a1; fill: #9198a1 }
  }
</style>`;
const SERIES_CLASSES = 6;

export interface BarChart {
  readonly title: string;
  readonly unit: string;
  readonly bars: readonly { readonly label: string; readonly value: number }[];
  /** The label whose bar stands out. */
  readonly highlight?: string;
}

export function barChart({ title, unit, bars, highlight }: BarChart): string {
  const labelWidth = 270;
  const rowHeight = 26;
  const top = 44;
  const height = top + bars.length * rowHeight + 12;
  const most = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  const scale = (WIDTH - labelWidth - 90) / most;
  const drawn = bars.map(({ label, value }, index) => {
    const y = top + index * rowHeight;
    const width = Math.max(1, value * scale);
    return text(labelWidth - 8, y + 15, label, 'text', 'end')
      + `<rect class="${label === highlight ? 'own' : 'bar'}" x="${labelWidth}" y="${y + 2}" width="${fixed(width)}" height="${rowHeight - 8}" rx="2"/>`
      + text(labelWidth + width + 6, y + 15, `${shortNumber(value)}${unit === '' ? '' : ` ${unit}`}`, 'muted', 'start');
  });
  return picture(height, title, drawn.join('\n'));
}

export interface LineSeries {
  readonly label: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface LineChart {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly series: readonly LineSeries[];
  readonly logX?: boolean;
  readonly logY?: boolean;
  /** A level line across the picture, for a target. */
  readonly level?: { readonly label: string; readonly value: number };
}

const PLOT = { left: 66, right: 20, top: 62, bottom: 46, height: 360 };

export function lineChart(chart: LineChart): string {
  const points = chart.series.flatMap((series) => series.points);
  const x = axis(points.map(([value]) => value), chart.logX === true, PLOT.left, WIDTH - PLOT.right);
  const levels = chart.level === undefined ? [] : [chart.level.value];
  const y = axis([...points.map(([, value]) => value), ...levels], chart.logY === true, PLOT.height - PLOT.bottom, PLOT.top);
  const grid = [
    ...y.ticks.map((value) => `<line class="grid" x1="${PLOT.left}" x2="${WIDTH - PLOT.right}" y1="${fixed(y.place(value))}" y2="${fixed(y.place(value))}"/>`
      + text(PLOT.left - 8, y.place(value) + 4, shortNumber(value), 'muted', 'end')),
    ...x.ticks.map((value) => text(x.place(value), PLOT.height - PLOT.bottom + 18, shortNumber(value), 'muted', 'middle')),
    text((PLOT.left + WIDTH) / 2, PLOT.height - 8, chart.xLabel, 'muted', 'middle'),
    text(8, PLOT.top - 10, chart.yLabel, 'muted', 'start'),
  ];
  const lines = chart.series.map((series, index) => {
    const path = series.points.map(([px, py], at) => `${at === 0 ? 'M' : 'L'}${fixed(x.place(px))} ${fixed(y.place(py))}`).join('');
    const name = `s${index % SERIES_CLASSES}`;
    const dots = series.points.length > 40 ? '' : series.points
      .map(([px, py]) => `<circle class="${name}" cx="${fixed(x.place(px))}" cy="${fixed(y.place(py))}" r="2.5"/>`).join('');
    return `<path class="${name}" style="fill:none" stroke-width="1.8" d="${path}"/>${dots}`;
  });
  const level = chart.level === undefined ? '' : `<line class="s5" stroke-dasharray="5 4" x1="${PLOT.left}" x2="${WIDTH - PLOT.right}" `
    + `y1="${fixed(y.place(chart.level.value))}" y2="${fixed(y.place(chart.level.value))}"/>`
    + text(WIDTH - PLOT.right, y.place(chart.level.value) - 5, chart.level.label, 'muted', 'end');
  return picture(PLOT.height, chart.title, [...grid, level, ...lines, legend(chart.series)].join('\n'));
}

function legend(series: readonly LineSeries[]): string {
  let left = PLOT.left;
  return series.map(({ label }, index) => {
    const at = left;
    left += 30 + label.length * 6.8;
    return `<rect class="s${index % SERIES_CLASSES}" x="${fixed(at)}" y="33" width="12" height="4"/>${text(at + 17, 39, label, 'text', 'start')}`;
  }).join('\n');
}

interface Axis {
  readonly ticks: readonly number[];
  place(value: number): number;
}

/** Linear axes begin at 0. */
function axis(values: readonly number[], isLog: boolean, from: number, to: number): Axis {
  const positive = isLog ? values.filter((value) => value > 0) : values;
  const most = Math.max(...positive, isLog ? 1e-9 : Number.MIN_VALUE);
  const least = isLog ? Math.min(...positive, most) : Math.min(0, ...values);
  const of = (value: number): number => (isLog ? Math.log10(Math.max(value, least)) : value);
  const low = isLog ? Math.floor(of(least)) : least;
  const high = isLog ? Math.max(low + 1, Math.ceil(of(most))) : most * 1.05;
  const ticks = isLog
    ? Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index))
    : linearTicks(low, high);
  return { ticks, place: (value) => from + (of(value) - low) / (high - low) * (to - from) };
}

function linearTicks(low: number, high: number): readonly number[] {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? power * 10;
  return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, index) => low + index * step);
}

function picture(height: number, title: string, content: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" ${FONT} font-size="12">
<title>${escaped(title)}</title>
${STYLE}
<text class="text" x="8" y="20" font-size="14" font-weight="600">${escaped(title)}</text>
${content}
</svg>
`;
}

function text(x: number, y: number, content: string, name: string, anchor: 'start' | 'middle' | 'end'): string {
  return `<text class="${name}" x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function fixed(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function shortNumber(value: number): string {
  if (Math.abs(value) >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (Math.abs(value) >= 10_000) return `${Number((value / 1e3).toPrecision(3))}k`;
  return String(Number(value.toPrecision(3)));
}
