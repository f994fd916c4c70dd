import { answeredLater, inProcess, overLink } from '../support/sleep-fronts.ts';
import { sleepSessionsConformance } from './sleep-sessions.ts';

sleepSessionsConformance('in process', inProcess, false);
sleepSessionsConformance('answered later', answeredLater, true);
sleepSessionsConformance('over the link of an edge', overLink, true);
