/**
 * The task file of a verification pool whose batches wait for the test: it announces each batch on one channel, and waits on
 * another for `go`, `throw` or `die`. Loading it fails while the environment variable is set.
 */
import { BroadcastChannel, workerData } from 'node:worker_threads';
import { HmacBatch } from '../../src/gateways/verification/hmac-batch.ts';
import type { HmacBatchMemory } from '../../src/gateways/verification/hmac-batch.ts';
import { gateFailsVariable, gateOrders, gateReports } from './gate.ts';
import type { GateOrder } from './gate.ts';

if (process.env[gateFailsVariable] !== undefined) throw new Error('this worker cannot be loaded');

const memories: readonly HmacBatchMemory[] = workerData;
const batches = memories.map((memory) => new HmacBatch(memory));

const reports = new BroadcastChannel(gateReports);

function orderOfTest(): Promise<GateOrder> {
  return new Promise((resolve) => {
    const orders = new BroadcastChannel(gateOrders);
    orders.onmessage = ({ data }: { data: GateOrder }) => {
      orders.close();
      resolve(data);
    };
    reports.postMessage('held');
  });
}

export async function verifyBatch(index: number): Promise<void> {
  const batch = batches[index];
  if (batch === undefined || batch.jobs === 0) return;
  const order = await orderOfTest();
  if (order === 'die') process.exit(1);
  if (order === 'throw') throw new Error('this worker was ordered to throw');
  batch.verify();
}
