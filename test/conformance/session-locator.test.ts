import { memoryGround } from '../support/node-ground.ts';
import { NodesSite } from '../support/nodes-site.ts';
import { type MakeSite, sleepAtNodes, sessionLocatorConformance } from './session-locator.ts';

const nodes: MakeSite = (t, members) => NodesSite.start(t, memoryGround(), members);

sessionLocatorConformance('nodes', nodes);
sleepAtNodes('nodes', nodes);
