import { draftedLog, nodesLog, storeLog } from '../support/kept-log.ts';
import { memoryGround } from '../support/node-ground.ts';
import { eventLogConformance } from './event-log.ts';

eventLogConformance('stand-in', draftedLog);
eventLogConformance('store', storeLog);
eventLogConformance('nodes', (t) => nodesLog(t, memoryGround()));
