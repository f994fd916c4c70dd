/** The table by which operators size processes and nodes, from the results. */
import { formatNumber, table, type Figure } from '../load/figure.ts';

interface Shown {
  readonly figure: string;
  readonly row: string;
  readonly metric: string;
  readonly digits: number;
  /** `{}` is the number. */
  readonly text: string;
}

const shown = (figure: string, row: string, metric: string, text: string, digits = 0): Shown => ({
  figure,
  row,
  metric,
  text,
  digits,
});

const sizes: Readonly<Record<string, readonly Shown[]>> = {
  memory: [
    shown('sessions', 'alone, 18,900 sessions', 'pssBytes', '{} bytes a sleeping device in a single process'),
    shown('sessions', '--processes 8, 150,000 sessions', 'pssBytes', '{} across 8 processes'),
    shown(
      'sessions',
      'its worker, mean',
      'pss',
      '{} MiB a worker with 18 750; the kernel’s memory comes on top',
    ),
  ],
  'a query': [
    shown('cores', 'alone', 'queryUs', '{} µs of CPU in a single process', 1),
    shown('cores', '--processes 8', 'queryUs', '{} with 8 processes', 1),
  ],
  'a wakeup': [
    shown('cores', 'alone', 'wakeupUs', '{} µs of CPU in a single process at 800/s'),
    shown('cores', '--processes 8', 'wakeupUs', '{} with 8 processes'),
    shown('hops', 'two nodes, the other one', 'cpuUs', '{} over another node'),
    shown('hops', 'two nodes, the other one', 'natsUs', 'plus {} at NATS'),
  ],
  'a login': [
    shown('cores', 'alone', 'loginUs', '{} µs of CPU in a single process'),
    shown('cores', '--processes 8', 'loginUs', '{} with 8 processes'),
    shown('hops', 'two nodes, same one', 'natsLoginUs', 'NATS {}'),
  ],
  registry: [
    shown('registry', '1,000,000 devices', 'diskBytes', '{} bytes of disk for each device at each node'),
    shown('nodes', 'node A: the rest shared into NATS', 'natsDisk', '{} MiB of disk at NATS for a million'),
  ],
  'a new node': [
    shown(
      'nodes',
      'node B: mirrored at its start',
      'seconds',
      '{} s for a million devices until it is ready',
    ),
  ],
  'an event': [
    shown('stream', 'two nodes', 'cpuUs', '{} µs of CPU at the node that writes it'),
    shown('stream', 'two nodes', 'otherUs', '{} at each other node'),
    shown('stream', 'two nodes', 'natsUs', '{} at NATS'),
  ],
  'a lost node': [
    shown('failover', 'node B', 'noticed', 'noticed after {} s', 1),
    shown('failover', 'node B', 'seconds', '18 900 sessions are ended after {} s', 1),
  ],
};

/** Markdown; what was not measured is not in it. */
export function describeSizing(figures: ReadonlyMap<string, Figure>): string {
  const rows = Object.entries(sizes).flatMap(([what, parts]) => {
    const found = parts.flatMap((part) => describe(part, figures));
    return found.length > 0 ? [[what, found.join(', ')]] : [];
  });
  return table(['what', 'cost'], rows);
}

function describe(
  { figure, row, metric, digits, text }: Shown,
  figures: ReadonlyMap<string, Figure>,
): string[] {
  const median = figures.get(figure)?.samples.spread(row, metric)?.median;
  return median === undefined ? [] : [text.replace('{}', formatNumber(median, digits))];
}
