/** How the figure of hops is reported: its rows, its columns, what is compared. */
import type { Figure, Target } from './figure.ts';
import { natsIsMissing } from './nats.ts';
import type { Plan } from './plan.ts';
import { difference, type Samples } from './samples.ts';
import type { Trouble } from './trouble.ts';
import { wakeColumns } from './wake-figure.ts';

export const connections = 32;

export const alone = 'alone';
export const sameProcess = 'two processes, same one';
export const otherProcess = 'two processes, the other one';
export const sameNode = 'two nodes, same one';
export const otherNode = 'two nodes, the other one';

export function describeHops({ hops }: Plan, samples: Samples, trouble: Trouble, withNats: boolean): Figure {
  const { devices, oneByOne, ratePerSecond, seconds } = hops;
  const pairs = [
    { what: 'another process', far: otherProcess, near: sameProcess, p50Max: 0.3 },
    ...(withNats ? [{ what: 'another node', far: otherNode, near: sameNode, p50Max: 1 }] : []),
  ];
  return {
    name: 'hops',
    title: 'A wakeup over another process, over another node',
    notes: [
      `From the POST to the 8 bytes read at the device, ${devices} devices in turn, each wakeup signed and with its own ` +
        `X-Request-ID. Idle: ${oneByOne} one at a time. Loaded: ${ratePerSecond}/s for ${seconds} s in an open loop over ` +
        `${connections} connections, counted from when each was due.`,
      'Limits raised as for the figure of wakeups. All servers, and nats-server, are on one core, the load on the other.',
      'Which worker has a connection is read from the kernel, for callers and devices: the same worker is asked in both ' +
        'rows of the processes. At the nodes all devices sleep at one, and the one or the other is asked.',
      'NATS’s CPU of a login is that of all that follows from it: the claim, the row, the event, the mirrors. Of a query: ' +
        'in a closed loop.',
      ...(withNats ? [] : [`Not measured: the rows of two nodes; ${natsIsMissing}.`]),
    ],
    columns: [
      ...wakeColumns,
      { metric: 'cpuUs', title: 'servers’ CPU µs/wakeup', digits: 1 },
      { metric: 'natsUs', title: 'NATS’s CPU µs/wakeup', digits: 1 },
      { metric: 'natsQueryUs', title: '/query', digits: 1 },
      { metric: 'natsLoginUs', title: '/login', digits: 1 },
    ],
    samples,
    targets: pairs.flatMap(({ what, far, near, p50Max }) => [
      added(
        samples,
        { far, near },
        { metric: 'idleP50', what: `${what} − local, p50 idle, ms`, atMost: p50Max },
      ),
      added(samples, { far, near }, { metric: 'idleP99', what: `${what} − local, p99 idle, ms`, atMost: 5 }),
      added(
        samples,
        { far, near },
        { metric: 'loadedP50', what: `${what} − local, p50 loaded, ms`, atMost: p50Max },
      ),
      added(
        samples,
        { far, near },
        { metric: 'loadedP99', what: `${what} − local, p99 loaded, ms`, atMost: 5 },
      ),
    ]),
    trouble: trouble.list,
  };
}

function added(
  samples: Samples,
  { far, near }: { readonly far: string; readonly near: string },
  { metric, what, atMost }: { readonly metric: string; readonly what: string; readonly atMost: number },
): Target {
  const measured = samples.compare(metric, far, near, difference);
  return { what, measured, bound: { kind: 'at most', value: atMost }, digits: 3 };
}
