/** The suites of the ports, by what implements them over a real nats-server: one, in which each test has its own streams. */
import { after } from 'node:test';
import { callRecordsConformance } from '../conformance/call-records.ts';
import { connectionRecordsConformance } from '../conformance/connection-records.ts';
import { eventLogConformance } from '../conformance/event-log.ts';
import { wakeupRecordsConformance } from '../conformance/wakeup-records.ts';
import { nodesLog } from '../support/kept-log.ts';
import { nodeRecords, type MakeKeptRecords } from '../support/kept-records.ts';
import { natsGround } from '../support/nats-ground.ts';
import { startNats } from '../support/nats-server.ts';

const { url } = await startNats({ after });

const records: MakeKeptRecords = (t) => nodeRecords(t, natsGround(url));
connectionRecordsConformance('connections, over NATS', records);
wakeupRecordsConformance('wakeups, over NATS', records);
callRecordsConformance('calls, over NATS', records);

eventLogConformance('the log, over NATS', (t) => nodesLog(t, natsGround(url)));
