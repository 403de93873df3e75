/** Medians and percentiles of a few measured values. */

/** Linear between the neighbours; NaN of nothing. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  if (sorted.length === 0) return NaN;
  const place = (sorted.length - 1) * share;
  const low = sorted[Math.floor(place)] ?? NaN;
  const high = sorted[Math.ceil(place)] ?? NaN;
  return low + (high - low) * (place - Math.floor(place));
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** Of the straight line nearest to the points (least squares); NaN of fewer than two places. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const covered = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  return covered / points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
}

export function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}
