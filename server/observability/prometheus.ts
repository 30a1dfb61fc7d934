/** A value with its labels and the suffix of its family's name (`_bucket`, `_sum`, `_count`). */
export type Sample = [labels: Record<string, string | number>, value: number, suffix?: string];

/** One metric with all its samples. */
export type Family = { name: string; help: string; type: 'counter' | 'gauge' | 'histogram'; samples: Sample[] };

/** Prints metrics in Prometheus' text format, version 0.0.4. A help text must be one line without a backslash. */
export function printFamilies(families: readonly Family[]): string {
  return families.map(printFamily).join('\n');
}

function printFamily({ name, help, type, samples }: Family): string {
  const lines = samples.map(([labels, value, suffix = '']) => `${name}${suffix}${labelsText(labels)} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function labelsText(labels: Sample[0]): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
