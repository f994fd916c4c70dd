/**
 * A process's end of the channel to its supervisor. Its orders come here and nowhere else: signals, which whoever
 * stops a service sends to all of its processes, are the supervisor's affair. Source: cluster.md, Several processes on one machine.
 */
import cluster from 'node:cluster';
import type { ProcessCompanyFacts, ProcessOrder, ProcessReport, ProcessTask } from './process-messages.ts';

export interface ProcessOrders {
  /** What it is. Before all others. */
  begin(task: ProcessTask, company: ProcessCompanyFacts): void;
  company(company: ProcessCompanyFacts): void;
  reload(): void;
  stop(): void;
  /** The supervisor is gone, and nobody else will tell it anything. */
  alone(): void;
}

const supervisorsSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const;

/** Call it once, as soon as orders can be followed: until then they wait. */
export function followSupervisor(orders: ProcessOrders): void {
  for (const signal of supervisorsSignals) process.on(signal, () => undefined);
  process.on('message', (order: ProcessOrder) => obey(order, orders));
  // Before Node does, which would end the process where it stands.
  cluster.worker?.on('disconnect', () => {
    if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
    orders.alone();
  });
  reportToSupervisor({ kind: 'loaded' });
}

/** `sent` is called when it is on its way, or when the supervisor is gone. */
export function reportToSupervisor(report: ProcessReport, sent: () => void = () => undefined): void {
  if (process.connected) process.send?.(report, undefined, undefined, sent);
  else sent();
}

function obey(order: ProcessOrder, orders: ProcessOrders): void {
  switch (order.kind) {
    case 'begin':
      return orders.begin(order.task, order.company);
    case 'company':
      return orders.company(order.company);
    case 'beat':
      return reportToSupervisor({ kind: 'beat' });
    case 'reload':
      return orders.reload();
    case 'stop':
      return orders.stop();
  }
}
