/**
 * Metrics as Prometheus' text, read back into families: of processes of this release, so the form is known, and a line
 * that is of another is passed over. Written again in the order in which they were read.
 */

export interface MetricFamily {
  readonly name: string;
  /** The lines that begin it. */
  readonly head: string;
  readonly type: string;
  /** By the whole of what stands before the value: `name_bucket{le="1"}`. */
  readonly samples: Map<string, number>;
}

const sampleForm = /^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{.*\})?) ([^ ]+)$/;
const typeForm = /^# TYPE (\S+) (\S+)$/;
const helpForm = /^# HELP (\S+) /;

export function parseExposition(text: string): readonly MetricFamily[] {
  const families: MetricFamily[] = [];
  let help = '';
  let family: MetricFamily | null = null;
  for (const line of text.split('\n')) {
    if (helpForm.test(line)) help = line;
    const [, name, type] = typeForm.exec(line) ?? [];
    if (name !== undefined && type !== undefined) {
      family = { name, type, head: `${help}\n${line}\n`, samples: new Map() };
      families.push(family);
    }
    const [, key, value] = sampleForm.exec(line) ?? [];
    if (family !== null && key?.startsWith(family.name) === true) family.samples.set(key, Number(value));
  }
  return families;
}

export function writeExposition(families: Iterable<MetricFamily>): string {
  let text = '';
  for (const { head, samples } of families) {
    text += head;
    for (const [key, value] of samples) text += `${key} ${writeValue(value)}\n`;
    text += '\n';
  }
  return text;
}

/** The same sample with one more label, first. */
export function withLabel(key: string, label: string): string {
  const brace = key.indexOf('{');
  return brace === -1 ? `${key}{${label}}` : `${key.slice(0, brace)}{${label},${key.slice(brace + 1)}`;
}

function writeValue(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}
