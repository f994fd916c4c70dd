/**
 * A process's end of the channel to its supervisor. Its orders come here and nowhere else: signals, which whoever
 * stops a service sends to all of its processes, are the supervisor's affair. Source: cluster.md, Several processes on one machine.
 */
import type { Socket } from 'node:net';
import type { WorkerSetState, ProcessOrder, ProcessReport, ProcessTask } from './process-messages.ts';

export interface ProcessOrders {
  /** What it is. Before all others. */
  begin(task: ProcessTask, workerSet: WorkerSetState): void;
  workerSet(workerSet: WorkerSetState): void;
  reload(): void;
  /** By a signal to the supervisor. */
  restartWorkers(): void;
  stop(): void;
  /** A connection to the sleep port, just accepted. */
  sleepConnection(socket: Socket): void;
  /** Of the sleep port, now. */
  sleepConnections(): number;
  /** The supervisor is gone, and nobody else will tell it anything. */
  alone(): void;
}

const supervisorsSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const;

/** Call it once, as soon as orders can be followed: until then they wait. */
export function followSupervisor(orders: ProcessOrders): void {
  for (const signal of supervisorsSignals) process.on(signal, () => undefined);
  let sleepTaken = 0;
  process.on('message', (order: ProcessOrder, socket: Socket | undefined) => {
    if (order.kind === 'sleep-connection') {
      sleepTaken += 1;
      if (socket !== undefined) orders.sleepConnection(socket);
    } else if (order.kind === 'beat')
      reportToSupervisor({ kind: 'beat', sleepConnections: orders.sleepConnections(), sleepTaken });
    else obey(order, orders);
  });
  process.on('disconnect', () => orders.alone());
  reportToSupervisor({ kind: 'loaded' });
}

/** `sent` is called when it is on its way, or when the supervisor is gone. */
export function reportToSupervisor(report: ProcessReport, sent: () => void = () => undefined): void {
  if (process.connected) process.send?.(report, undefined, undefined, sent);
  else sent();
}

type Plain = Exclude<ProcessOrder, { kind: 'beat' | 'sleep-connection' }>;

function obey(order: Plain, orders: ProcessOrders): void {
  switch (order.kind) {
    case 'begin':
      return orders.begin(order.task, order.workerSet);
    case 'worker-set':
      return orders.workerSet(order.workerSet);
    case 'reload':
      return orders.reload();
    case 'restart-signalled':
      return orders.restartWorkers();
    case 'stop':
      return orders.stop();
  }
}
