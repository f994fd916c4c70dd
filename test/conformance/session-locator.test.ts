import { memoryGround } from '../support/node-ground.ts';
import { NodesSite } from '../support/nodes-site.ts';
import { ProcessesSite } from '../support/processes-site.ts';
import {
  type MakeSite,
  sleepAtNodes,
  sleepInProcesses,
  sessionLocatorConformance,
} from './session-locator.ts';

const processes: MakeSite = async (t, members) => new ProcessesSite(t, members);
const nodes: MakeSite = (t, members) => NodesSite.start(t, memoryGround(), members);

sessionLocatorConformance('processes', processes);
sleepInProcesses('processes', processes);
sessionLocatorConformance('nodes', nodes);
sleepAtNodes('nodes', nodes);
