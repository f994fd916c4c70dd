/** Runs the conformance tests of shared buckets on the simulated NATS. */
import { kvStoreConformance } from '../conformance/kv-store.ts';
import { NatsConnection, type WayFaults } from './nats-connection.ts';
import { NatsServer } from './nats-server.ts';
import { SimulatedTransport } from './nats-transport.ts';
import { Host, Timeline } from './timeline.ts';

const noFaults: WayFaults = {
  delayMs: () => 1,
  requestFate: () => 'answered',
  losesMessage: () => false,
  noticedMs: () => 1000,
  droppedMs: () => 2000,
  redialMs: () => 100,
};

kvStoreConformance('simulated', async (t) => {
  const timeline = new Timeline();
  const server = new NatsServer(() => timeline.nowMs);
  const open = (name: string): SimulatedTransport => {
    const host = new Host(name);
    const link = new NatsConnection({ server, timeline, host, faults: noFaults }, false);
    return new SimulatedTransport(link, server, name);
  };
  const passing = { isOver: false };
  const pass = async (): Promise<void> => {
    while (!passing.isOver) await timeline.pass(5);
  };
  const passed = pass();
  t.after(async () => {
    passing.isOver = true;
    await passed;
  });
  return { one: open('one').bucket('rows'), other: open('other').bucket('rows') };
});
