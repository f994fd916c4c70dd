/** The suites of the ports, by what implements them over a real nats-server: one, in which each test has its own streams. */
import { after } from 'node:test';
import { callRecordsConformance } from '../conformance/call-records.ts';
import { connectionRecordsConformance } from '../conformance/connection-records.ts';
import { eventLogConformance } from '../conformance/event-log.ts';
import { kvStoreConformance } from '../conformance/kv-store.ts';
import { registryConformance } from '../conformance/registry.ts';
import { wakeupRecordsConformance } from '../conformance/wakeup-records.ts';
import { deliveryStoreConformance } from '../conformance/delivery-store.ts';
import { sharedDeliveryStore } from '../support/kept-delivery-stores.ts';
import { nodesLog } from '../support/kept-log.ts';
import { nodeRecords, type MakeKeptRecords } from '../support/kept-records.ts';
import { natsBucket, natsGround } from '../support/nats-ground.ts';
import { startNats } from '../support/nats-server.ts';
import { nodesRegistry } from '../support/seen-registries.ts';

const { url } = await startNats({ after });

for (const bucket of ['rows', 'members', 'calls'] as const)
  kvStoreConformance(`the bucket of ${bucket}, over NATS`, (t) => natsBucket(t, url, bucket));

const records: MakeKeptRecords = (t) => nodeRecords(t, natsGround(url));
connectionRecordsConformance('connections, over NATS', records);
wakeupRecordsConformance('wakeups, over NATS', records);
callRecordsConformance('calls, over NATS', records);
eventLogConformance('the log, over NATS', (t) => nodesLog(t, natsGround(url)));
deliveryStoreConformance('the delivery store, over NATS', async (t) =>
  sharedDeliveryStore(t, (await natsBucket(t, url, 'hooks')).one),
);
registryConformance('as another node has it', (t) => nodesRegistry(t, url));
