import { sleepFronts } from '../support/sleep-fronts.ts';
import { sleepSessionsConformance } from './sleep-sessions.ts';

for (const front of sleepFronts) sleepSessionsConformance(front);
