/** Conformance of all record stores that need no NATS; they share their setup. */
import { memoryGround } from '../support/node-ground.ts';
import { nodeRecords, standIns, storeRecords, type MakeKeptRecords } from '../support/kept-records.ts';
import { callRecordsConformance } from './call-records.ts';
import { connectionRecordsConformance } from './connection-records.ts';
import { wakeupRecordsConformance } from './wakeup-records.ts';

const implementations: Readonly<Record<string, MakeKeptRecords>> = {
  'stand-in': standIns,
  'a store of its own': storeRecords,
  'one of two nodes': (t) => nodeRecords(t, memoryGround()),
};

for (const [name, make] of Object.entries(implementations)) {
  connectionRecordsConformance(`connections, ${name}`, make);
  wakeupRecordsConformance(`wakeups, ${name}`, make);
  callRecordsConformance(`calls, ${name}`, make);
}
