/** What the house counts. Names and labels are those of running.md; the ops room turns them into metrics. */
import type { SleepEndReason, SleepRefusal } from '../domain/sleep.ts';

export type WakeupOutcomeLabel = 'accepted' | 'repeated' | 'failed' | 'unknown' | 'refused';

export interface Telemetry {
  httpRequest(route: string, status: number, code: number, seconds: number): void;
  authFailure(reason: string): void;
  sleepLogin(result: 'accepted' | SleepRefusal): void;
  sleepEnd(reason: SleepEndReason): void;
  wakeup(outcome: WakeupOutcomeLabel): void;
  /** From the write call to the kernel having the bytes. */
  wakeupWrite(seconds: number): void;
}
