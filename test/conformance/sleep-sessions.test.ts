import { answeredLater, inProcess } from '../support/sleep-fronts.ts';
import { sleepSessionsConformance } from './sleep-sessions.ts';

sleepSessionsConformance('in process', inProcess, false);
sleepSessionsConformance('answered later', answeredLater, true);
